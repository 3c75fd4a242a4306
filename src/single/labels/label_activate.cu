// Bond activation (label_steps.hpp). A warp has 64 sites: the draws of their bonds in one direction
// are 64 consecutive slots, half a warp's calls, and ballots make bit masks of them.
#include "src/single/labels/label_grid.cuh"
#include "src/single/labels/label_steps.hpp"

namespace rewise::single {
namespace {

using namespace device;

constexpr unsigned kWarpSites = 64;

// The masks of drawn bonds of a warp's sites.
template <int kDim>
struct DrawnBonds {
  static constexpr unsigned kRounds = (kDim + 1) / 2;  // two blocks of slots each
  std::uint32_t ballots[kRounds][4];

  __device__ __forceinline__ DrawnBonds(const DrawKey& key, Threshold threshold,
                                        std::uint64_t chunk) {
    const std::uint64_t first = chunk * kDim * kCallsPerBlock + threadIdx.x % 32;
#pragma unroll
    for (unsigned n = 0; n < kRounds; ++n) {
      const Words4 x =
          random_words(key.seed, Stream::single_bond, first + 32 * n, key.who, 0, key.step);
#pragma unroll
      for (unsigned w = 0; w < 4; ++w) ballots[n][w] = __ballot_sync(~0u, x.w[w] < threshold);
    }
  }

  // Bit s: the bond ahead of site s of the half (0, 1) of the warp's sites.
  __device__ __forceinline__ std::uint32_t mask(unsigned half, unsigned direction) const {
    const unsigned slot = (half * kDim + direction) * 32;
    const unsigned block = slot / kSlotsPerBlock, word = slot % kSlotsPerBlock / kCallsPerBlock;
    const std::uint32_t* words = ballots[block / 2] + word;
    return __byte_perm(words[0], words[1], block % 2 == 0 ? 0x5410 : 0x7632);
  }
};

template <int kDim>
__device__ __forceinline__ std::uint8_t active_bonds(const Geometry& g, const std::uint8_t* spins,
                                                     Site site, const DrawnBonds<kDim>& drawn,
                                                     unsigned half) {
  std::uint32_t c[kDim];
  g.coordinates<kDim>(site, c);
  const unsigned lane = threadIdx.x % 32;
  const std::uint8_t spin = spins[site];
  std::uint32_t bits = 0;
#pragma unroll
  for (int k = 0; k < kDim; ++k) {
    const bool on = (drawn.mask(half, static_cast<unsigned>(k)) >> lane & 1u) != 0 &&
                    spins[g.ahead(site, c[k], k)] == spin;
    bits |= (on ? 1u : 0u) << k;
  }
  return static_cast<std::uint8_t>(bits);
}

template <int kDim>
__device__ __forceinline__ void activate_chunk(const DevicePlan& plan, const DeviceSystems& systems,
                                               const LabelField& field, const Item& item) {
  const std::uint64_t chunk = item.index / 32, first = chunk * kWarpSites;
  if (first >= plan.sites) return;
  const DrawnBonds<kDim> drawn(systems.key(item.who), plan.bond[systems.temperature(item.who)],
                               chunk);
  const std::uint8_t* spins = systems.system(item.who);
  std::uint8_t* bonds = field.of(field.bonds, item.who);
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const std::uint64_t site = first + 32 * half + threadIdx.x % 32;
    if (site >= plan.sites) continue;
    bonds[site] = active_bonds<kDim>(field.geometry, spins, static_cast<Site>(site), drawn, half);
  }
}

template <int kDim>
__global__ void __launch_bounds__(kLabelThreads)
    activate_bonds(const __grid_constant__ DevicePlan plan,
                   const __grid_constant__ DeviceSystems systems,
                   const __grid_constant__ LabelField field, SystemItems items) {
  activate_chunk<kDim>(plan, systems, field, item_of(items));
}

// A rewired bond is drawn, and the lattice bond that it was is taken out.
__device__ __forceinline__ void activate_shortcut(const DevicePlan& plan,
                                                  const DeviceSystems& systems,
                                                  const LabelField& field,
                                                  std::uint8_t* shortcut_on, const Item& item) {
  const RewiredSlot bond = plan.rewired[item.index];
  const std::uint8_t* spins = systems.system(item.who);
  const bool drawn = happens(slot_draw(systems.key(item.who), Stream::single_bond, bond.slot),
                             plan.bond[systems.temperature(item.who)]);
  shortcut_on[item.who * plan.rewired_count + item.index] = drawn && spins[bond.a] == spins[bond.b];
  if (bond.slot >= plan.bond_slots.lattice_slots) return;
  const auto group = static_cast<std::uint32_t>(bond.slot >> 5);
  const std::uint32_t site = group / plan.bond_slots.dim * 32 + (bond.slot & 31u);
  const std::uint32_t bit = 8 * (site % 4) + group % plan.bond_slots.dim;
  auto* words = reinterpret_cast<std::uint32_t*>(field.of(field.bonds, item.who));
  atomicAnd_system(words + site / 4, ~(1u << bit));
}

__global__ void activate_shortcuts(const __grid_constant__ DevicePlan plan,
                                   const __grid_constant__ DeviceSystems systems,
                                   const __grid_constant__ LabelField field,
                                   std::uint8_t* shortcut_on, SystemItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) activate_shortcut(plan, systems, field, shortcut_on, item);
}

}  // namespace

void launch_activate(const DevicePlan& plan, const DeviceSystems& systems, const LabelField& field,
                     std::uint8_t* shortcut_on, cudaStream_t stream) {
  launch_activate_lattice(plan, systems, field, stream);
  launch_activate_shortcuts(plan, systems, field, shortcut_on, stream);
}

void launch_activate_lattice(const DevicePlan& plan, const DeviceSystems& systems,
                             const LabelField& field, cudaStream_t stream) {
  with_dim(field.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) {
      const SystemItems items((plan.sites + kWarpSites - 1) / kWarpSites * 32, field.systems,
                              field.part);
      launch_items(activate_bonds<kDim>, items, stream, plan, systems, field);
    }
  });
}

void launch_activate_shortcuts(const DevicePlan& plan, const DeviceSystems& systems,
                               const LabelField& field, std::uint8_t* shortcut_on,
                               cudaStream_t stream) {
  const SystemItems items(plan.rewired_count, field.systems, field.part);
  launch_items(activate_shortcuts, items, stream, plan, systems, field, shortcut_on);
}

}  // namespace rewise::single

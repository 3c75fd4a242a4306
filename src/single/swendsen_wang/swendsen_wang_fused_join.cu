// The bonds that tiles leave to the whole lattice, on the fast Swendsen-Wang path
// (swendsen_wang_fused.hpp); and the masks that are made once.
#include "src/single/launch_share.hpp"
#include "src/single/swendsen_wang/fused_nodes.cuh"
#include "src/single/swendsen_wang/seams.hpp"

namespace rewise::single {
namespace {

using namespace device;

constexpr unsigned kThreads = 128;

// The label of a site, and the node that it belongs to.
struct SiteNode {
  std::uint32_t label = 0, node = 0;
};

template <int kDim>
__device__ __forceinline__ SiteNode node_of(const FusedLabels& labels, const FusedSystem& system,
                                            Site site) {
  const TilePlace at = tile_place<kDim>(labels.common.tiles, labels.common.geometry, site);
  const std::uint32_t label =
      system.label[static_cast<std::size_t>(at.tile) * kTileSites + at.place];
  return {label, at.tile * labels.capacity + (label & kNodeMask)};
}

__device__ __forceinline__ bool rewired_drawn(const DevicePlan& plan, const DeviceSystems& systems,
                                              std::uint32_t who, const RewiredSlot& bond) {
  const DrawKey key = systems.key(who);
  const Words4 x =
      random_words(key.seed, Stream::single_bond, slot_item(bond.slot), key.who, 0, key.step);
  const std::uint32_t low = (bond.slot & 16u) != 0 ? x.w[1] : x.w[0];
  const std::uint32_t high = (bond.slot & 16u) != 0 ? x.w[3] : x.w[2];
  return happens((bond.slot & 32u) != 0 ? high : low, plan.bond[systems.temperature(who)]);
}

// A bond of the list, as far as it is known before the tiles are labelled.
struct Candidate {
  bool drawn = false;  // across a border: not known yet
  Site a = 0, b = 0;
  int direction = -1;  // across a border
};

template <int kDim>
__device__ __forceinline__ Candidate candidate(const DevicePlan& plan, const FusedLabels& labels,
                                               const Seams& seams, const DeviceSystems& systems,
                                               std::uint32_t who, std::uint64_t index) {
  if (index < seams.first[kDim]) {
    const SeamBond bond = seam_bond<kDim>(labels.common.geometry, seams, plan.sites, index);
    return {bond.exists, bond.a, bond.b, bond.direction};
  }
  if (index >= seams.first[kDim + 1]) return {};
  const RewiredSlot bond = plan.rewired[seams.rewired<kDim>(index)];
  return {rewired_drawn(plan, systems, who, bond), bond.a, bond.b, -1};
}

// Both ends of a bond in the list are open sites: their labels name nodes. kPotts: spins are bytes,
// not bits of labels.
template <int kDim, bool kPotts>
__device__ __forceinline__ void join_bond(const DevicePlan& plan, const FusedLabels& labels,
                                          const Seams& seams, const DeviceSystems& systems,
                                          std::uint32_t update, std::uint32_t who,
                                          std::uint64_t index) {
  const FusedSystem system(labels, who, update);
  const Candidate bond = candidate<kDim>(plan, labels, seams, systems, who, index);
  wait_for_kernel_before();
  bool joined = bond.drawn;
  SiteNode a, b;
  if (joined) {
    if (bond.direction >= 0) {
      joined = bit_at(system.drawn, DevicePlan::slot_of<kDim>(bond.a, bond.direction));
    }
    a = node_of<kDim>(labels, system, bond.a);
    b = node_of<kDim>(labels, system, bond.b);
  }
  if constexpr (kPotts) {
    const std::uint8_t* spins = systems.system(who);
    joined = joined && spins[bond.a] == spins[bond.b];
  } else {
    joined = joined && ((a.label ^ b.label) >> kSpinBit & 1u) == 0;
  }
  // Bonds across a border often join the same two nodes.
  const std::uint64_t pair =
      joined ? static_cast<std::uint64_t>(a.node) << 32 | b.node : ~std::uint64_t{0};
  const std::uint32_t peers = __match_any_sync(~0u, pair);
  if (joined && threadIdx.x % 32 == lowest(peers)) system.forest.unite(a.node, b.node);
}

template <int kDim, bool kPotts>
__global__ void __launch_bounds__(kThreads)
    join_bonds(const __grid_constant__ DevicePlan plan, const __grid_constant__ FusedLabels labels,
               const __grid_constant__ Seams seams, const __grid_constant__ DeviceSystems systems,
               std::uint32_t update, const __grid_constant__ SystemBlocks blocks) {
  let_next_kernel_begin();
  const auto [who, block] = blocks.place(blockIdx.x);
  join_bond<kDim, kPotts>(plan, labels, seams, systems, update, who,
                          std::uint64_t{block} * kThreads + threadIdx.x);
}

__device__ __forceinline__ void mark_gone(const DevicePlan& plan, std::uint32_t* gone,
                                          std::uint64_t index) {
  const std::uint64_t slot = plan.rewired[index].slot;
  if (slot < plan.bond_slots.lattice_slots) atomicOr(gone + (slot >> 5), 1u << (slot & 31u));
}

__global__ void __launch_bounds__(kThreads)
    make_masks(const __grid_constant__ DevicePlan plan, std::uint32_t* gone,
               std::uint32_t* modified) {
  const std::uint64_t index = static_cast<std::uint64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index < plan.rewired_count) mark_gone(plan, gone, index);
  if (32 * index < plan.sites) modified[index] = plan.groups[index].modified;
}

}  // namespace

void launch_fused_join(const DevicePlan& plan, const FusedLabels& labels,
                       const DeviceSystems& systems, std::uint32_t update, cudaStream_t stream) {
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    if constexpr (kDim >= 2) {
      const Seams seams =
          Seams::make<kDim>(plan, labels.common.tiles, labels.common.geometry, systems.share);
      const DeviceSystems all = systems.whole();  // the seams are the share's already
      LaunchShape shape{1, kThreads};
      shape.early = labels.early;
      launch_share(plan.potts ? join_bonds<kDim, true> : join_bonds<kDim, false>,
                   (seams.first[kDim + 1] + kThreads - 1) / kThreads, shape, all, stream, plan,
                   labels, seams, all, update);
    }
  });
}

void launch_fused_masks(const DevicePlan& plan, std::uint32_t* gone, std::uint32_t* modified,
                        cudaStream_t stream) {
  const std::uint64_t items = std::max(plan.rewired_count, (plan.sites + 31) / 32);
  launch(make_masks, cover(items, kThreads), stream, plan, gone, modified);
}

}  // namespace rewise::single

// The parts of a Swendsen-Wang update around a labelling by a named method
// (swendsen_wang_labels_cuda.hpp): bond activation, the flip, cluster sizes and their sums.
#include <algorithm>

#include "src/bytespin/swendsen_wang/slab_labels_cuda.hpp"
#include "src/cuda/bits.cuh"
#include "src/cuda/replica_items.cuh"
#include "src/cuda/warp_sum.cuh"

namespace rewise::bytespin {
namespace {

// Bond activation. The bonds of the 64 sites of a warp are kDim blocks of 64 consecutive slots.
// Half a warp draws a block by 16 calls, and ballots give the bit masks of its slots.

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
          random_words(key.seed, Stream::bytespin_bond, first + 32 * n, key.replica, 0, key.step);
#pragma unroll
      for (unsigned w = 0; w < 4; ++w) ballots[n][w] = __ballot_sync(~0u, x.w[w] < threshold);
    }
  }

  // Bit s: the bond from site s of one half (0, 1) of the warp's sites to the next site.
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
__device__ __forceinline__ void activate_chunk(const DevicePlan& plan,
                                               const DeviceReplicas& replicas,
                                               const LabelArrays& arrays, const Item& item) {
  const std::uint64_t chunk = item.index / 32, first = chunk * kWarpSites;
  if (first >= plan.sites) return;
  const DrawnBonds<kDim> drawn(replicas.key(item.replica),
                               plan.bond[replicas.temperature(item.replica)], chunk);
  const std::uint8_t* spins = replicas.spins_of(item.replica);
  std::uint8_t* bonds = arrays.of(arrays.bonds, item.replica);
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const std::uint64_t site = first + 32 * half + threadIdx.x % 32;
    if (site >= plan.sites) continue;
    bonds[site] = active_bonds<kDim>(arrays.geometry, spins, static_cast<Site>(site), drawn, half);
  }
}

template <int kDim>
__global__ void __launch_bounds__(kItemThreads)
    activate_bonds(const __grid_constant__ DevicePlan plan,
                   const __grid_constant__ DeviceReplicas replicas,
                   const __grid_constant__ LabelArrays arrays, ReplicaItems items) {
  activate_chunk<kDim>(plan, replicas, arrays, item_of(items));
}

// Draws a rewired bond and removes the lattice bond that it replaced.
__device__ __forceinline__ void activate_shortcut(const DevicePlan& plan,
                                                  const DeviceReplicas& replicas,
                                                  const LabelArrays& arrays,
                                                  std::uint8_t* shortcut_on, const Item& item) {
  const RewiredSlot bond = plan.rewired[item.index];
  const std::uint8_t* spins = replicas.spins_of(item.replica);
  const bool drawn =
      is_below(slot_draw(replicas.key(item.replica), Stream::bytespin_bond, bond.slot),
               plan.bond[replicas.temperature(item.replica)]);
  shortcut_on[item.replica * plan.rewired_count + item.index] =
      drawn && spins[bond.a] == spins[bond.b];
  if (bond.slot >= plan.bond_slots.lattice_slots) return;
  const auto group = static_cast<std::uint32_t>(bond.slot >> 5);
  const std::uint32_t site = group / plan.bond_slots.dim * 32 + (bond.slot & 31u);
  const std::uint32_t bit = 8 * (site % 4) + group % plan.bond_slots.dim;
  auto* words = reinterpret_cast<std::uint32_t*>(arrays.of(arrays.bonds, item.replica));
  atomicAnd(words + site / 4, ~(1u << bit));
}

__global__ void activate_shortcuts(const __grid_constant__ DevicePlan plan,
                                   const __grid_constant__ DeviceReplicas replicas,
                                   const __grid_constant__ LabelArrays arrays,
                                   std::uint8_t* shortcut_on, ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) activate_shortcut(plan, replicas, arrays, shortcut_on, item);
}

}  // namespace

void launch_activate_lattice(const DevicePlan& plan, const DeviceReplicas& replicas,
                             const LabelArrays& arrays, cudaStream_t stream) {
  with_dim(arrays.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) {
      const ReplicaItems items((plan.sites + kWarpSites - 1) / kWarpSites * 32, arrays.replicas,
                               arrays.part);
      launch(activate_bonds<kDim>, items, stream, plan, replicas, arrays);
    }
  });
}

void launch_activate_shortcuts(const DevicePlan& plan, const DeviceReplicas& replicas,
                               const LabelArrays& arrays, std::uint8_t* shortcut_on,
                               cudaStream_t stream) {
  const ReplicaItems items(plan.rewired_count, arrays.replicas, arrays.part);
  launch(activate_shortcuts, items, stream, plan, replicas, arrays, shortcut_on);
}

namespace {

// The flip.

// Ising: 16 sites per thread, one byte each.
__device__ __forceinline__ void draw_flips(const DrawKey& key, std::uint8_t* out,
                                           std::uint64_t index) {
  const auto site = static_cast<Site>(16 * index);
  const Words4 x =
      random_words(key.seed, Stream::bytespin_flip, bit_item(site), key.replica, 0, key.step);
  std::uint32_t bits = x.w[0];
#pragma unroll
  for (unsigned w = 1; w < 4; ++w) bits = (site >> 5 & 3u) == w ? x.w[w] : bits;
  bits >>= site & 31u;
  const auto four = [](std::uint32_t b) {
    return (b & 1u) | (b & 2u) << 7 | (b & 4u) << 14 | (b & 8u) << 21;
  };
  reinterpret_cast<uint4*>(out)[index] =
      make_uint4(four(bits), four(bits >> 4), four(bits >> 8), four(bits >> 12));
}

// Potts: one call draws the states of four sites.
__device__ __forceinline__ void draw_states(const DrawKey& key, std::uint32_t states,
                                            std::uint8_t* out, std::uint64_t call) {
  const Words4 x = random_words(key.seed, Stream::bytespin_flip, call, key.replica, 0, key.step);
  std::uint8_t* block = out + call / kCallsPerBlock * kSlotsPerBlock + call % kCallsPerBlock;
#pragma unroll
  for (unsigned w = 0; w < 4; ++w) block[kCallsPerBlock * w] = any_state(x.w[w], states);
}

template <bool kPotts>
__global__ void __launch_bounds__(kItemThreads)
    draw_orientations(const __grid_constant__ DevicePlan plan,
                      const __grid_constant__ DeviceReplicas replicas,
                      const __grid_constant__ LabelArrays arrays, ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items) return;
  std::uint8_t* out = arrays.of(arrays.bonds, item.replica);
  if (kPotts) {
    draw_states(replicas.key(item.replica), plan.states, out, item.index);
  } else {
    draw_flips(replicas.key(item.replica), out, item.index);
  }
}

template <bool kPotts>
__device__ __forceinline__ void flip_site(const DeviceReplicas& replicas, const LabelArrays& arrays,
                                          const Item& item) {
  std::uint8_t* spin = replicas.spins_of(item.replica) + item.index;
  const std::uint8_t drawn =
      arrays.of(arrays.bonds, item.replica)[arrays.of(arrays.label, item.replica)[item.index]];
  *spin = kPotts ? drawn : static_cast<std::uint8_t>(*spin ^ drawn);
}

template <bool kPotts>
__global__ void __launch_bounds__(kItemThreads)
    flip_sites_by_label(const __grid_constant__ DeviceReplicas replicas,
                        const __grid_constant__ LabelArrays arrays, ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) flip_site<kPotts>(replicas, arrays, item);
}

}  // namespace

void launch_draw_orientations(const DevicePlan& plan, const DeviceReplicas& replicas,
                              const LabelArrays& arrays, cudaStream_t stream) {
  const std::uint64_t per_thread = plan.potts ? 4 : 16;
  // Whole blocks of 64 slots; arrays.stride has room for them.
  const ReplicaItems draws(
      (arrays.sites + kSlotsPerBlock - 1) / kSlotsPerBlock * kSlotsPerBlock / per_thread,
      arrays.replicas, arrays.part);
  launch(plan.potts ? draw_orientations<true> : draw_orientations<false>, draws, stream, plan,
         replicas, arrays);
}

void launch_flip_sites(const DevicePlan& plan, const DeviceReplicas& replicas,
                       const LabelArrays& arrays, cudaStream_t stream) {
  const ReplicaItems items(arrays.sites, arrays.replicas, arrays.part);
  launch(plan.potts ? flip_sites_by_label<true> : flip_sites_by_label<false>, items, stream,
         replicas, arrays);
}

namespace {

// Cluster sizes and their sums.

constexpr unsigned kSitesPerCount = 16;  // of a thread
constexpr unsigned kCountSlots = 1024;
constexpr std::uint32_t kNone = 0xFFFFFFFFu;

// A block's counts of labels in shared memory, one label per slot; a label whose slot is taken is
// counted in global memory at once. Near and below Tc most sites have one label, whose word in
// global memory would be the bottleneck.
struct CountSlots {
  std::uint32_t label[kCountSlots], count[kCountSlots];

  __device__ __forceinline__ void clear() {
    for (unsigned k = threadIdx.x; k < kCountSlots; k += kItemThreads) {
      label[k] = kNone;
      count[k] = 0;
    }
    __syncthreads();
  }
  // Called by a warp; kNone means no label.
  __device__ __forceinline__ void add(std::uint32_t* size, std::uint32_t of) {
    const std::uint32_t peers = __match_any_sync(~0u, of);
    if (of == kNone || threadIdx.x % 32 != lowest(peers)) return;
    const auto sites = static_cast<std::uint32_t>(__popc(peers));
    const unsigned slot = (of * 0x9E3779B1u) >> 22;
    const std::uint32_t there = atomicCAS(label + slot, kNone, of);
    if (there == kNone || there == of) {
      atomicAdd(count + slot, sites);
    } else {
      atomicAdd(size + of, sites);
    }
  }
  __device__ __forceinline__ void flush(std::uint32_t* size) const {
    __syncthreads();
    for (unsigned k = threadIdx.x; k < kCountSlots; k += kItemThreads) {
      if (count[k] > 0) atomicAdd(size + label[k], count[k]);
    }
  }
};

__device__ __forceinline__ void count_sites(const LabelArrays& arrays, const Item& item,
                                            CountSlots& slots) {
  const std::uint32_t* label = arrays.of(arrays.label, item.replica);
  std::uint32_t* size = arrays.of(arrays.size, item.replica);
  const std::uint64_t first =
      (item.index - threadIdx.x) * kSitesPerCount + threadIdx.x;  // of a block's
  slots.clear();
  for (unsigned n = 0; n < kSitesPerCount; ++n) {
    const std::uint64_t site = first + kItemThreads * n;
    slots.add(size, site < arrays.sites ? label[site] : kNone);
  }
  slots.flush(size);
}

__global__ void __launch_bounds__(kItemThreads)
    count_clusters(const __grid_constant__ LabelArrays arrays, ReplicaItems items) {
  __shared__ CountSlots slots;
  count_sites(arrays, item_of(items), slots);
}

// The threads of a replica stride over its sites [first, end).
__device__ __forceinline__ void sum_replica(const LabelArrays& arrays, std::uint32_t replica,
                                            std::uint64_t first, std::uint64_t end,
                                            std::uint64_t threads, unsigned long long* sums) {
  const std::uint32_t* size = arrays.of(arrays.size, replica);
  std::uint64_t square = 0;
  WideSum fourth = 0;
  for (std::uint64_t site = first; site < end; site += threads) {
    const std::uint64_t n = size[site], n2 = n * n;
    square += n2;
    fourth += static_cast<WideSum>(n2) * n2;
  }
  square = warp_sum(square);
  fourth = warp_sum(fourth);
  if (threadIdx.x % 32 != 0 || square == 0) return;
  atomicAdd(sums, static_cast<unsigned long long>(square));
  atomic_add_wide(sums + 1, sums + 2, fourth);
}

__global__ void __launch_bounds__(kItemThreads)
    sum_clusters(const __grid_constant__ LabelArrays arrays, std::uint64_t begin, std::uint64_t end,
                 unsigned long long* sums, ReplicaItems items) {
  const Item item = item_of(items);
  sum_replica(arrays, item.replica, begin + item.index, end,
              std::uint64_t{items.blocks.per_replica.divisor} * kItemThreads,
              sums + kClusterSums * item.replica);
}

__device__ __forceinline__ void close_sums(const DeviceReplicas& replicas, std::uint32_t replica,
                                           unsigned long long* sum, unsigned long long* quartic) {
  const std::uint64_t square = sum[0];
  const WideSum fourth = static_cast<WideSum>(sum[2]) << 64 | sum[1];
  const WideSum total = (static_cast<WideSum>(quartic[1]) << 64 | quartic[0]) +
                        3 * (static_cast<WideSum>(square) * square) - 2 * fourth;
  replicas.pending[replica] += square;
  quartic[0] = static_cast<unsigned long long>(total);
  quartic[1] = static_cast<unsigned long long>(total >> 64);
  sum[0] = sum[1] = sum[2] = 0;
}

__global__ void close_replicas(const __grid_constant__ DeviceReplicas replicas,
                               unsigned long long* sums, unsigned long long* quartic) {
  const std::uint32_t replica = blockIdx.x * blockDim.x + threadIdx.x;
  if (replica < replicas.count)
    close_sums(replicas, replica, sums + kClusterSums * replica, quartic + 2 * replica);
}

}  // namespace

void launch_count_clusters(const LabelArrays& arrays, cudaStream_t stream) {
  const ReplicaItems items((arrays.sites + kSitesPerCount - 1) / kSitesPerCount, arrays.replicas,
                           arrays.part);
  launch(count_clusters, items, stream, arrays);
}

void launch_sum_clusters(const LabelArrays& arrays, unsigned long long* sums, cudaStream_t stream) {
  constexpr std::uint64_t kMaxThreads = 1u << 17;
  const std::uint64_t begin = arrays.part.begin(arrays.sites), end = arrays.part.end(arrays.sites);
  const std::uint64_t each = std::max<std::uint64_t>(kMaxThreads / arrays.replicas, kItemThreads);
  const ReplicaItems items(std::min(end - begin, each), arrays.replicas);
  launch(sum_clusters, items, stream, arrays, begin, end, sums);
}

void launch_close_sums(const DeviceReplicas& replicas, unsigned long long* sums,
                       unsigned long long* quartic, cudaStream_t stream) {
  launch(close_replicas, cover(replicas.count, 64), stream, replicas, sums, quartic);
}

namespace {

// The slab of a rank (slab_labels_cuda.hpp).

__device__ __forceinline__ void cut_bond(const LabelArrays& slab, std::uint64_t plane,
                                         std::uint8_t* leaving, const Item& item) {
  const unsigned slowest = static_cast<unsigned>(slab.dim - 1);
  std::uint8_t& bonds = slab.of(slab.bonds, item.replica)[slab.sites - plane + item.index];
  leaving[item.replica * plane + item.index] = bonds >> slowest & 1u;
  bonds = static_cast<std::uint8_t>(bonds & ~(1u << slowest));
}

__global__ void __launch_bounds__(kItemThreads)
    cut_bonds(const __grid_constant__ LabelArrays slab, std::uint64_t plane, std::uint8_t* leaving,
              ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) cut_bond(slab, plane, leaving, item);
}

__global__ void __launch_bounds__(kItemThreads)
    read_labels(const std::uint32_t* label, const Site* sites, std::uint64_t count, Site* labels) {
  const std::uint64_t k = std::uint64_t{blockIdx.x} * kItemThreads + threadIdx.x;
  if (k < count) labels[k] = label[sites[k]];
}

__device__ __forceinline__ std::uint64_t joined_pair(const DevicePlan& plan,
                                                     const DeviceReplicas& replicas,
                                                     std::uint32_t replica, const LabelArrays& slab,
                                                     const SlabJoins& joins, std::uint64_t k) {
  std::uint64_t site = slab.sites - joins.plane + k;  // counted from the slab's first
  bool joined = k < joins.plane && joins.leaving[k] != 0;
  if (k >= joins.plane) {
    const RewiredSlot bond = joins.outgoing[k - joins.plane];
    const std::uint8_t* spins = replicas.spins_of(replica);
    site = bond.a - joins.first;
    joined = spins[bond.a] == spins[bond.b] &&
             is_below(slot_draw(replicas.key(replica), Stream::bytespin_bond, bond.slot),
                      plan.bond[replicas.temperature(replica)]);
  }
  if (!joined) return ~std::uint64_t{0};
  return (joins.first + slab.label[site]) << 32 | joins.far_labels[k];
}

__global__ void __launch_bounds__(kItemThreads)
    join_slab(const __grid_constant__ DevicePlan plan,
              const __grid_constant__ DeviceReplicas replicas, std::uint32_t replica,
              const __grid_constant__ LabelArrays slab, const __grid_constant__ SlabJoins joins) {
  const std::uint64_t k = std::uint64_t{blockIdx.x} * kItemThreads + threadIdx.x;
  if (k < joins.plane + joins.outgoing_count) {
    joins.pairs[k] = joined_pair(plan, replicas, replica, slab, joins, k);
  }
}

template <bool kPotts>
__global__ void __launch_bounds__(kItemThreads)
    adopt_draws(const __grid_constant__ DevicePlan plan,
                const __grid_constant__ DeviceReplicas replicas, std::uint32_t replica,
                const __grid_constant__ LabelArrays slab, SitePair* united, std::uint64_t count) {
  const std::uint64_t k = std::uint64_t{blockIdx.x} * kItemThreads + threadIdx.x;
  if (k >= count) return;
  const DrawKey key = replicas.key(replica);
  const auto [label, smallest] = united[k];
  if (kPotts) {
    slab.bonds[label] = any_state(slot_draw(key, Stream::bytespin_flip, smallest), plan.states);
  } else {
    const Words4 words =
        random_words(key.seed, Stream::bytespin_flip, bit_item(smallest), key.replica, 0, key.step);
    slab.bonds[label] = static_cast<std::uint8_t>(bit_of(words, smallest));
  }
  united[k].b = slab.size[label];
  slab.size[label] = 0;
}

}  // namespace

void launch_cut_slab(const LabelArrays& slab, std::uint64_t plane, std::uint8_t* leaving,
                     cudaStream_t stream) {
  launch(cut_bonds, ReplicaItems(plane, slab.replicas), stream, slab, plane, leaving);
}

void launch_read_labels(const LabelArrays& slab, const Site* sites, std::uint64_t count,
                        Site* labels, cudaStream_t stream) {
  launch(read_labels, cover(count, kItemThreads), stream, slab.label, sites, count, labels);
}

void launch_join_slab(const DevicePlan& plan, const DeviceReplicas& replicas, std::uint32_t replica,
                      const LabelArrays& slab, const SlabJoins& joins, cudaStream_t stream) {
  launch(join_slab, cover(joins.plane + joins.outgoing_count, kItemThreads), stream, plan, replicas,
         replica, slab, joins);
}

void launch_adopt_draws(const DevicePlan& plan, const DeviceReplicas& replicas,
                        std::uint32_t replica, const LabelArrays& slab, SitePair* united,
                        std::uint64_t count, cudaStream_t stream) {
  if (count == 0) return;
  launch(plan.potts ? adopt_draws<true> : adopt_draws<false>, cover(count, kItemThreads), stream,
         plan, replicas, replica, slab, united, count);
}

}  // namespace rewise::bytespin

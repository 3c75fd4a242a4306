// The parts of a Swendsen-Wang update around a labelling by a named method
// (swendsen_wang_labels_cuda.hpp): bond activation, the flip, cluster sizes and their sums.
#include <algorithm>

#include "src/bytespin/swendsen_wang/labels.cuh"
#include "src/bytespin/swendsen_wang/swendsen_wang_labels_cuda.hpp"
#include "src/cuda/replica_items.cuh"

namespace rewise::bytespin {
namespace {

using namespace device;

// Bond activation. The bonds of the 64 sites of a warp are kDim blocks of 64 consecutive draws.
// Half a warp draws a block by 16 calls, and ballots give the bit masks of its draws.

constexpr unsigned kWarpSites = 64;

// The masks of drawn bonds of a warp's sites.
template <int kDim>
struct DrawnBonds {
  uint2 blocks[(kDim + 1) / 2 * 2];

  __device__ __forceinline__ DrawnBonds(const DrawKey& key, Threshold threshold,
                                        std::uint64_t chunk) {
    const std::uint64_t first = chunk * kDim * kCallsPerBlock + threadIdx.x % 32;
#pragma unroll
    for (unsigned n = 0; n < kDim; n += 2) {
      const DrawnBlocks two(key, first + 16 * n, threshold);
      blocks[n] = two.mask(false);
      blocks[n + 1] = two.mask(true);
    }
  }

  // Bit s: the bond from site s of one half (0, 1) of the warp's sites to the next site.
  __device__ __forceinline__ std::uint32_t mask(unsigned half, unsigned direction) const {
    const unsigned draw_index = (half * kDim + direction) * 32;
    const uint2 block = blocks[draw_index / kDrawsPerBlock];
    return draw_index % kDrawsPerBlock == 0 ? block.x : block.y;
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
                    spins[g.forward(site, c[k], k)] == spin;
    bits |= (on ? 1u : 0u) << k;
  }
  return static_cast<std::uint8_t>(bits);
}

template <int kDim>
__device__ __forceinline__ void activate_chunk(const GraphView& graph,
                                               const DeviceReplicas& replicas,
                                               const LabelArrays& arrays, const Item& item) {
  const std::uint64_t chunk = item.index / 32, first = chunk * kWarpSites;
  if (first >= graph.sites) return;
  const DrawnBonds<kDim> drawn(replicas.key(item.replica),
                               graph.bond[replicas.temperature(item.replica)], chunk);
  const std::uint8_t* spins = replicas.spins_of(item.replica);
  std::uint8_t* bonds = arrays.of_replica(arrays.bonds, item.replica);
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const std::uint64_t site = first + 32 * half + threadIdx.x % 32;
    if (site >= graph.sites) continue;
    bonds[site] = active_bonds<kDim>(arrays.geometry, spins, static_cast<Site>(site), drawn, half);
  }
}

template <int kDim>
__global__ void __launch_bounds__(kItemThreads)
    activate_bonds(const __grid_constant__ GraphView graph,
                   const __grid_constant__ DeviceReplicas replicas,
                   const __grid_constant__ LabelArrays arrays, ReplicaItems items) {
  activate_chunk<kDim>(graph, replicas, arrays, item_of(items));
}

// Draws a rewired bond and removes the lattice bond that it replaced.
__device__ __forceinline__ void activate_shortcut(const GraphView& graph,
                                                  const DeviceReplicas& replicas,
                                                  const LabelArrays& arrays,
                                                  std::uint8_t* shortcut_on, const Item& item) {
  const IndexedBond bond = graph.rewired[item.index];
  const std::uint8_t* spins = replicas.spins_of(item.replica);
  const bool drawn =
      is_below(draw_at(replicas.key(item.replica), Stream::bytespin_bond, bond.draw_index),
               graph.bond[replicas.temperature(item.replica)]);
  shortcut_on[item.replica * graph.rewired_count + item.index] =
      drawn && spins[bond.a] == spins[bond.b];
  if (bond.draw_index >= graph.bond_draw_index.lattice_draws) return;
  const auto group = static_cast<std::uint32_t>(bond.draw_index >> 5);
  const std::uint32_t site = group / graph.bond_draw_index.dim * 32 + (bond.draw_index & 31u);
  const std::uint32_t bit = 8 * (site % 4) + group % graph.bond_draw_index.dim;
  auto* words = reinterpret_cast<std::uint32_t*>(arrays.of_replica(arrays.bonds, item.replica));
  atomicAnd(words + site / 4, ~(1u << bit));
}

__global__ void activate_shortcuts(const __grid_constant__ GraphView graph,
                                   const __grid_constant__ DeviceReplicas replicas,
                                   const __grid_constant__ LabelArrays arrays,
                                   std::uint8_t* shortcut_on, ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) activate_shortcut(graph, replicas, arrays, shortcut_on, item);
}

}  // namespace

void launch_activate_lattice(const GraphView& graph, const DeviceReplicas& replicas,
                             const LabelArrays& arrays, cudaStream_t stream) {
  with_dim(arrays.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) {
      const ReplicaItems items((graph.sites + kWarpSites - 1) / kWarpSites * 32, arrays.replicas,
                               arrays.part);
      launch(activate_bonds<kDim>, items, stream, graph, replicas, arrays);
    }
  });
}

void launch_activate_shortcuts(const GraphView& graph, const DeviceReplicas& replicas,
                               const LabelArrays& arrays, std::uint8_t* shortcut_on,
                               cudaStream_t stream) {
  const ReplicaItems items(graph.rewired_count, arrays.replicas, arrays.part);
  launch(activate_shortcuts, items, stream, graph, replicas, arrays, shortcut_on);
}

namespace {

// The flip.

// Ising: 16 sites per thread, one byte each.
__device__ __forceinline__ void draw_flips(const DrawKey& key, std::uint8_t* out,
                                           std::uint64_t index) {
  const auto site = static_cast<Site>(16 * index);
  const Words4 x = key.words(Stream::bytespin_flip, bit_item(site));
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
  const Words4 x = key.words(Stream::bytespin_flip, call);
  std::uint8_t* block = out + call / kCallsPerBlock * kDrawsPerBlock + call % kCallsPerBlock;
#pragma unroll
  for (unsigned w = 0; w < 4; ++w) block[kCallsPerBlock * w] = any_state(x.w[w], states);
}

template <bool kPotts>
__global__ void __launch_bounds__(kItemThreads)
    draw_orientations(const __grid_constant__ GraphView graph,
                      const __grid_constant__ DeviceReplicas replicas,
                      const __grid_constant__ LabelArrays arrays, ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items) return;
  std::uint8_t* out = arrays.of_replica(arrays.bonds, item.replica);
  if (kPotts) {
    draw_states(replicas.key(item.replica), graph.states, out, item.index);
  } else {
    draw_flips(replicas.key(item.replica), out, item.index);
  }
}

template <bool kPotts>
__device__ __forceinline__ void flip_site(const DeviceReplicas& replicas, const LabelArrays& arrays,
                                          const Item& item) {
  std::uint8_t* spin = replicas.spins_of(item.replica) + item.index;
  const std::uint8_t drawn = arrays.of_replica(
      arrays.bonds, item.replica)[arrays.of_replica(arrays.label, item.replica)[item.index]];
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

void launch_draw_orientations(const GraphView& graph, const DeviceReplicas& replicas,
                              const LabelArrays& arrays, cudaStream_t stream) {
  const std::uint64_t per_thread = graph.potts ? 4 : 16;
  // Whole blocks of 64 draws; arrays.stride has room for them.
  const ReplicaItems draws(
      (arrays.sites + kDrawsPerBlock - 1) / kDrawsPerBlock * kDrawsPerBlock / per_thread,
      arrays.replicas, arrays.part);
  launch(graph.potts ? draw_orientations<true> : draw_orientations<false>, draws, stream, graph,
         replicas, arrays);
}

void launch_flip_sites(const GraphView& graph, const DeviceReplicas& replicas,
                       const LabelArrays& arrays, cudaStream_t stream) {
  const ReplicaItems items(arrays.sites, arrays.replicas, arrays.part);
  launch(graph.potts ? flip_sites_by_label<true> : flip_sites_by_label<false>, items, stream,
         replicas, arrays);
}

namespace {

// Cluster sizes and their sums.

constexpr unsigned kSitesPerCount = 16;  // of a thread

// Called by whole blocks.
__device__ __forceinline__ void count_sites(const LabelArrays& arrays, const Item& item) {
  const std::uint32_t* label = arrays.of_replica(arrays.label, item.replica);
  std::uint32_t* size = arrays.of_replica(arrays.size, item.replica);
  RootSums sizes([size](Site root, std::uint32_t sites) { atomicAdd(size + root, sites); });
  const std::uint64_t first =
      (item.index - threadIdx.x) * kSitesPerCount + threadIdx.x;  // of a block's
  for (unsigned n = 0; n < kSitesPerCount; ++n) {
    const std::uint64_t site = first + kItemThreads * n;
    const bool there = site < arrays.sites;
    sizes.add(there ? label[site] : kNone, there ? 1 : 0);
  }
  sizes.close();
}

__global__ void __launch_bounds__(kItemThreads)
    count_clusters(const __grid_constant__ LabelArrays arrays, ReplicaItems items) {
  count_sites(arrays, item_of(items));
}

// The threads of a replica stride over its sites [first, end).
__device__ __forceinline__ void sum_replica(const LabelArrays& arrays, std::uint32_t replica,
                                            std::uint64_t first, std::uint64_t end,
                                            std::uint64_t threads, unsigned long long* sums) {
  const std::uint32_t* size = arrays.of_replica(arrays.size, replica);
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
                                           unsigned long long* sum) {
  unsigned long long* const quartic = replicas.quartic + 2 * std::size_t{replica};
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
                               unsigned long long* sums) {
  const std::uint32_t replica = blockIdx.x * blockDim.x + threadIdx.x;
  if (replica < replicas.count) close_sums(replicas, replica, sums + kClusterSums * replica);
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
                       cudaStream_t stream) {
  launch(close_replicas, cover(replicas.count, 64), stream, replicas, sums);
}

}  // namespace rewise::bytespin

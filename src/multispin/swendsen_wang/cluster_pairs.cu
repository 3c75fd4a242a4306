// Sums over pairs of clusters on the device (cluster_pairs_cuda.hpp).
#include "graphs/lattice.hpp"
#include "src/cuda/check.hpp"
#include "src/cuda/launch.hpp"
#include "src/cuda/warp_sum.cuh"
#include "src/multispin/swendsen_wang/cluster_pairs_cuda.hpp"

namespace rewise::multispin {
namespace {

constexpr unsigned kPairThreads = 256, kPairWarps = kPairThreads / 32;
constexpr std::uint32_t kLocalBits = 12, kLocalSlots = 1u << kLocalBits;
static_assert(kLocalSlots == 2 * kLabelTileSites);
constexpr std::uint32_t kFree = ~0u;
constexpr std::uint32_t kBothNodes = kNodeLabel << 16 | kNodeLabel;

// The tile's hash table, and its pairs of nodes.
struct LocalPairs {
  std::uint32_t labels[kLocalSlots];     // that of the first replica in the upper half; kFree
  std::uint32_t sums[kLocalSlots];       // common sites; the sum of their weights in the upper half
  std::uint16_t nodes[kLabelTileSites];  // slots
  std::uint16_t first[2][kLabelTileSites];  // of each node: the first node of the same cluster
  std::uint32_t node_count;
  std::uint32_t square, cross, weight_square;  // of final pairs

  // Fibonacci hashing.
  static __device__ __forceinline__ std::uint32_t first_slot(std::uint32_t both) {
    return both * 0x9E3779B1u >> (32 - kLocalBits);
  }
  static __device__ __forceinline__ std::uint32_t next_slot(std::uint32_t slot) {
    return (slot + 1) % kLocalSlots;
  }
  __device__ __forceinline__ void clear() {
    for (unsigned k = threadIdx.x; k < kLocalSlots; k += kPairThreads) {
      labels[k] = kFree;
      sums[k] = 0;
    }
    if (threadIdx.x == 0) node_count = square = cross = weight_square = 0;
  }
  // Inserts a label unless it is in the table. Returns its slot.
  __device__ __forceinline__ std::uint32_t put(std::uint32_t label) {
    for (std::uint32_t slot = first_slot(label);; slot = next_slot(slot)) {
      const std::uint32_t found = atomicCAS(labels + slot, kFree, label);
      if (found == kFree || found == label) return slot;
    }
  }
  // The slot of a label that is in the table. No thread may insert labels at the same time.
  __device__ __forceinline__ std::uint32_t slot_of(std::uint32_t label) const {
    std::uint32_t slot = first_slot(label);
    while (labels[slot] != label) slot = next_slot(slot);
    return slot;
  }
  // The label of a site; for a node, the label of the first node of the same cluster.
  __device__ __forceinline__ std::uint32_t merged(unsigned which, std::uint32_t label) const {
    return label < kNodeLabel ? label : kNodeLabel + first[which][label - kNodeLabel];
  }
  __device__ __forceinline__ std::uint32_t both(std::uint32_t a, std::uint32_t b) const {
    return merged(0, a) << 16 | merged(1, b);
  }
};

// A block's tile of two replicas.
struct PairTile {
  std::uint32_t pair;        // among those of this launch
  std::uint32_t word_group;  // of the run
  std::uint32_t replica;     // the first one, of the word group
  std::uint32_t tile, graph, item;

  __device__ __forceinline__ PairTile(const DeviceLabelTiles& g, const LabelArgs& run,
                                      std::uint32_t first_pair)
      : pair(blockIdx.x / g.count),
        word_group((first_pair + pair) / (kReplicas / 2)),
        replica((first_pair + pair) % (kReplicas / 2) * 2),
        tile(blockIdx.x - pair * g.count),
        graph((run.first + word_group) / g.word_groups),
        item(word_group * g.count + tile) {}

  __device__ __forceinline__ const std::uint16_t* labels(const LabelArgs& run,
                                                         unsigned which) const {
    return run.label +
           (static_cast<std::size_t>(item) * kReplicas + replica + which) * kLabelTileSites;
  }
  // The keys of the tile's nodes.
  __device__ __forceinline__ const std::uint32_t* keys(const DeviceLabelTiles& g,
                                                       const LabelArgs& run, unsigned which) const {
    return run.key +
           (static_cast<std::size_t>(word_group) * kReplicas + replica + which) * g.nodes_most +
           g.node_first[static_cast<std::size_t>(graph) * (g.count + 1) + tile];
  }
};

__device__ __forceinline__ bool counts(const LabelArgs& run, const DeviceClusterPairs& pairs) {
  return std::uint64_t{*run.first_step} + run.step >= pairs.first_step;
}

// Step 0. Nodes of a tile that belong to the same cluster, connected through other tiles, get the
// same label. Otherwise the pair of this cluster and a cluster inside the tile would be counted in
// parts. The table is empty before and after.
__device__ __forceinline__ void merge_nodes(const DeviceLabelTiles& g, const LabelArgs& run,
                                            const PairTile& at, LocalPairs& local) {
  const std::uint32_t* counts =
      run.nodes + static_cast<std::size_t>(at.item) * kReplicas + at.replica;
  const std::uint32_t count[2] = {counts[0], counts[1]};
  if (count[0] + count[1] == 0) return;
  for (unsigned which = 0; which < 2; ++which) {
    const std::uint32_t* keys = at.keys(g, run, which);
    for (std::uint32_t node = threadIdx.x; node < count[which]; node += kPairThreads) {
      const std::uint32_t slot = local.put(keys[node] >> 1 << 1 | which);
      atomicMax(local.sums + slot, kLabelTileSites - node);
    }
  }
  __syncthreads();
  for (unsigned which = 0; which < 2; ++which) {
    const std::uint32_t* keys = at.keys(g, run, which);
    for (std::uint32_t node = threadIdx.x; node < count[which]; node += kPairThreads) {
      const std::uint32_t slot = local.slot_of(keys[node] >> 1 << 1 | which);
      local.first[which][node] = static_cast<std::uint16_t>(kLabelTileSites - local.sums[slot]);
    }
  }
  __syncthreads();
  local.clear();
  __syncthreads();
}

// Step 1. A lane reads one site of each row of its warp; the first site of a run adds the run.
template <int kDim>
__device__ __forceinline__ void add_runs(const DeviceLabelTiles& g, const LabelArgs& run,
                                         const PairTile& at, LocalPairs& local) {
  constexpr unsigned kRows = kLabelRows / kPairWarps;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const LabelTile<kDim> tile(g.lattice.extent, g.along, at.tile);
  const std::uint16_t *a = at.labels(run, 0), *b = at.labels(run, 1);
  std::uint32_t both[kRows];
#pragma unroll
  for (unsigned k = 0; k < kRows; ++k) {
    const unsigned place = (warp + k * kPairWarps) * 32 + lane;
    both[k] = static_cast<std::uint32_t>(a[place]) << 16 | b[place];
  }
#pragma unroll
  for (unsigned k = 0; k < kRows; ++k) {
    const std::uint32_t count =
        tile.row(g.lattice.extent, g.lattice.sites, warp + k * kPairWarps).count;
    if (lane < count) both[k] = local.both(both[k] >> 16, both[k] & 0xFFFFu);
    const std::uint32_t before = __shfl_up_sync(~0u, both[k], 1);
    const bool starts = lane < count && (lane == 0 || before != both[k]);
    const std::uint32_t all = __ballot_sync(~0u, starts);
    if (!starts) continue;
    const std::uint32_t later = all & ~(~0u >> (31 - lane));
    const auto end =
        later == 0 ? count : static_cast<std::uint32_t>(__ffs(static_cast<int>(later))) - 1;
    atomicAdd(local.sums + local.put(both[k]), end - lane);
  }
}

__device__ __forceinline__ void add_weights(const DeviceLabelTiles& g, const LabelArgs& run,
                                            const PairTile& at, LocalPairs& local) {
  const std::size_t tile = static_cast<std::size_t>(at.graph) * (g.count + 1) + at.tile;
  const std::uint32_t last = g.weight_first[tile + 1];
  const std::uint32_t* weights = g.weights + static_cast<std::size_t>(at.graph) * g.weights_most;
  const std::uint16_t *a = at.labels(run, 0), *b = at.labels(run, 1);
  for (std::uint32_t i = g.weight_first[tile] + threadIdx.x; i < last; i += kPairThreads) {
    const std::uint32_t place = weights[i] & 0xFFFFu, weight = weights[i] >> 16;
    // The weights of a tile sum to less than 2^14.
    atomicAdd(local.sums + local.slot_of(local.both(a[place], b[place])), weight << 16);
  }
}

// Step 2. Bounds: sum n^2 at most 2^22, sum n w below 2^25, sum w^2 below 2^28. Lists the pairs of
// nodes.
template <bool kWeighted>
__device__ __forceinline__ void sum_final(LocalPairs& local) {
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t square = 0, cross = 0, weight_square = 0;
  for (unsigned slot = threadIdx.x; slot < kLocalSlots; slot += kPairThreads) {
    const std::uint32_t both = local.labels[slot], sums = local.sums[slot];
    const bool nodes = both != kFree && (both & kBothNodes) == kBothNodes;
    if (!nodes) {  // the sums of free slots are 0
      const std::uint32_t n = sums & 0xFFFFu, w = sums >> 16;
      square += n * n;
      if constexpr (kWeighted) {
        cross += n * w;
        weight_square += w * w;
      }
    }
    const std::uint32_t all = __ballot_sync(~0u, nodes);
    if (all == 0) continue;
    std::uint32_t first = 0;
    if (lane == 0) first = atomicAdd(&local.node_count, static_cast<std::uint32_t>(__popc(all)));
    first = __shfl_sync(~0u, first, 0);
    if (nodes) {
      local.nodes[first + static_cast<unsigned>(__popc(all & ((1u << lane) - 1)))] =
          static_cast<std::uint16_t>(slot);
    }
  }
  square = __reduce_add_sync(~0u, square);
  if (lane == 0) atomicAdd(&local.square, square);
  if constexpr (kWeighted) {
    cross = __reduce_add_sync(~0u, cross);
    weight_square = __reduce_add_sync(~0u, weight_square);
    if (lane == 0) {
      atomicAdd(&local.cross, cross);
      atomicAdd(&local.weight_square, weight_square);
    }
  }
}

// Step 3.
__device__ __forceinline__ void add_nodes(const DeviceLabelTiles& g, const LabelArgs& run,
                                          const DeviceClusterPairs& pairs, const PairTile& at,
                                          const LocalPairs& local) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t sites = g.lattice.sites;
  PairSlot* slots = pairs.slots + static_cast<std::size_t>(at.pair) * sites;
  std::uint32_t* used = pairs.used + static_cast<std::size_t>(at.pair) * sites;
  const std::uint32_t *keys_a = at.keys(g, run, 0), *keys_b = at.keys(g, run, 1);
  for (std::uint32_t begin = threadIdx.x - lane; begin < local.node_count; begin += kPairThreads) {
    const bool is_pair = begin + lane < local.node_count;
    bool is_new = false;
    std::uint32_t slot = 0;
    if (is_pair) {
      const std::uint32_t from = local.nodes[begin + lane], both = local.labels[from];
      const std::uint32_t a = keys_a[(both >> 16) - kNodeLabel] >> 1,
                          b = keys_b[(both & 0xFFFFu) - kNodeLabel] >> 1;
      const auto clusters = (static_cast<unsigned long long>(a) << 32 | b) + 1;
      for (slot = a > b ? a : b;; slot = slot + 1 == sites ? 0 : slot + 1) {
        const unsigned long long found = atomicCAS(&slots[slot].clusters, 0ull, clusters);
        is_new = found == 0;
        if (is_new || found == clusters) break;
      }
      const std::uint32_t sums = local.sums[from];
      atomicAdd(&slots[slot].sums,
                static_cast<unsigned long long>(sums >> 16) << 32 | (sums & 0xFFFFu));
    }
    const std::uint32_t all = __ballot_sync(~0u, is_new);
    if (all == 0) continue;
    std::uint32_t first = 0;
    if (lane == 0)
      first = atomicAdd(pairs.count + at.pair, static_cast<std::uint32_t>(__popc(all)));
    first = __shfl_sync(~0u, first, 0);
    if (is_new) used[first + static_cast<unsigned>(__popc(all & ((1u << lane) - 1)))] = slot;
  }
}

// Index of a pair's sums.
__device__ __forceinline__ std::size_t sums_of(const LabelArgs& run, std::uint32_t pair) {
  return static_cast<std::size_t>(run.first) * kReplicas + 2 * static_cast<std::size_t>(pair);
}

template <int kDim, bool kWeighted>
__global__ void __launch_bounds__(kPairThreads)
    count_pairs(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run,
                const __grid_constant__ DeviceClusterPairs pairs, std::uint32_t first_pair) {
  __shared__ LocalPairs local;
  if (!counts(run, pairs)) return;
  const PairTile at(g, run, first_pair);
  local.clear();
  __syncthreads();
  merge_nodes(g, run, at, local);
  add_runs<kDim>(g, run, at, local);
  __syncthreads();
  if constexpr (kWeighted) {
    add_weights(g, run, at, local);
    __syncthreads();
  }
  sum_final<kWeighted>(local);
  __syncthreads();
  add_nodes(g, run, pairs, at, local);
  if (threadIdx.x > 0) return;
  const std::size_t sums = sums_of(run, first_pair + at.pair);
  if (local.square != 0)
    atomicAdd(pairs.size + sums, static_cast<unsigned long long>(local.square));
  if constexpr (kWeighted) {
    if (local.weight_square == 0) return;
    atomicAdd(pairs.cross + sums, static_cast<unsigned long long>(local.cross));
    atomicAdd(pairs.weight + sums, static_cast<unsigned long long>(local.weight_square));
  }
}

// Step 4.
template <bool kWeighted>
__global__ void __launch_bounds__(kPairThreads)
    close_pairs(const __grid_constant__ LabelArgs run,
                const __grid_constant__ DeviceClusterPairs pairs, std::uint32_t sites,
                std::uint32_t blocks_per_pair, std::uint32_t first_pair) {
  const std::uint32_t pair = blockIdx.x / blocks_per_pair,
                      block = blockIdx.x - pair * blocks_per_pair;
  PairSlot* slots = pairs.slots + static_cast<std::size_t>(pair) * sites;
  const std::uint32_t* used = pairs.used + static_cast<std::size_t>(pair) * sites;
  const std::uint32_t count = pairs.count[pair];
  std::uint64_t square = 0, cross = 0, weight_square = 0;
  for (std::uint64_t i = std::uint64_t{block} * kPairThreads + threadIdx.x; i < count;
       i += std::uint64_t{blocks_per_pair} * kPairThreads) {
    PairSlot& slot = slots[used[i]];
    const std::uint64_t n = slot.sums & 0xFFFFFFFFu, w = slot.sums >> 32;
    square += n * n;
    if constexpr (kWeighted) {
      cross += n * w;
      weight_square += w * w;
    }
    slot = {0, 0};
  }
  square = warp_sum(square);
  if constexpr (kWeighted) {
    cross = warp_sum(cross);
    weight_square = warp_sum(weight_square);
  }
  if (threadIdx.x % 32 != 0 || square == 0) return;
  const std::size_t sums = sums_of(run, first_pair + pair);
  atomicAdd(pairs.size + sums, static_cast<unsigned long long>(square));
  if constexpr (kWeighted) {
    if (weight_square == 0) return;
    atomicAdd(pairs.cross + sums, static_cast<unsigned long long>(cross));
    atomicAdd(pairs.weight + sums, static_cast<unsigned long long>(weight_square));
  }
}

}  // namespace

void launch_cluster_pairs(const DeviceLabelTiles& g, const LabelArgs& run,
                          const DeviceClusterPairs& pairs, cudaStream_t stream) {
  // A tile has some 200 pairs of nodes.
  const std::uint32_t blocks_per_pair = (g.count + 3) / 4;
  const std::uint32_t all = run.word_groups * (kReplicas / 2);
  for (std::uint32_t first = 0; first < all; first += pairs.at_once) {
    const std::uint32_t some = all - first < pairs.at_once ? all - first : pairs.at_once;
    check_cuda(cudaMemsetAsync(pairs.count, 0, some * sizeof(std::uint32_t), stream), "clearing");
    with_dim(g.lattice.dim, [&]<int kDim>() {
      launch(run.weight == nullptr ? count_pairs<kDim, false> : count_pairs<kDim, true>,
             LaunchShape{some * g.count, kPairThreads}, stream, g, run, pairs, first);
    });
    launch(run.weight == nullptr ? close_pairs<false> : close_pairs<true>,
           LaunchShape{some * blocks_per_pair, kPairThreads}, stream, run, pairs, g.lattice.sites,
           blocks_per_pair, first);
  }
}

}  // namespace rewise::multispin

// Step 5 of Swendsen-Wang updates on the device (swendsen_wang_cuda.hpp): sites flip by the keys of
// their roots; sums over clusters.
#include "src/cuda/warp_sum.cuh"
#include "src/multispin/swendsen_wang/label_item.cuh"

namespace rewise::multispin {
namespace {

using namespace device;

// Adds the sums of all lanes to those of one replica. Called by a whole warp.
__device__ __forceinline__ void add_cluster_sums(LabelSums& sums, std::uint64_t square,
                                                 WideSum fourth) {
  if (!__any_sync(~0u, square != 0)) return;
  square = warp_sum(square);
  fourth = warp_sum(fourth);
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&sums.square, static_cast<unsigned long long>(square));
  atomic_add_wide(&sums.fourth_low, &sums.fourth_high, fourth);
}

// add_cluster_sums() for the sums with weights.
__device__ __forceinline__ void add_weight_sums(LabelSums& sums, std::uint64_t cross,
                                                std::uint64_t square) {
  if (!__any_sync(~0u, square != 0)) return;
  cross = warp_sum(cross);
  square = warp_sum(square);
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&sums.cross, static_cast<unsigned long long>(cross));
  atomicAdd(&sums.weight_square, static_cast<unsigned long long>(square));
}

constexpr unsigned kFlipThreads = 512;
constexpr unsigned kFlipWarps = kFlipThreads / 32;

// Words of a table with one bit per label, 1 if its cluster flips: the labels of places, then those
// of nodes.
constexpr unsigned kLabelWords = 2 * kLabelRows;

// The flips of the nodes of a tile; sums over the roots among the nodes.
template <int kDim, bool kWeighted>
__device__ __forceinline__ void node_flips(const DeviceLabelTiles& g, const LabelArgs& run,
                                           const LabelItem<kDim>& item, unsigned replica,
                                           std::uint32_t* flips) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t first =
      g.node_first[static_cast<std::size_t>(item.graph) * (g.count + 1) + item.tile];
  const std::size_t forest =
      (static_cast<std::size_t>(item.word_group) * 32 + replica) * g.nodes_most;
  const std::uint32_t count = run.nodes[item.of_replica(replica)];
  std::uint64_t square = 0, cross = 0, weight_square = 0;
  WideSum fourth = 0;
  constexpr unsigned kAtOnce = kDim == 3 ? 2 : 1;
  for (std::uint32_t begin = 0; begin < count; begin += 32 * kAtOnce) {
    std::uint32_t key[kAtOnce], parent[kAtOnce];
#pragma unroll
    for (unsigned n = 0; n < kAtOnce; ++n) {
      const std::uint32_t number = begin + 32 * n + lane, node = first + number;
      key[n] = number < count ? run.key[forest + node] : 0;
      parent[n] = number < count ? run.parent[forest + node] : ~0u;
    }
#pragma unroll
    for (unsigned n = 0; n < kAtOnce; ++n) {
      const std::uint32_t node = first + begin + 32 * n + lane;
      const std::uint32_t all = __ballot_sync(~0u, (key[n] & 1u) != 0);
      if (lane == 0 && begin + 32 * n < count) flips[begin / 32 + n] = all;
      if (parent[n] == node) {
        const std::uint64_t size = run.size[forest + node], size2 = size * size;
        square += size2;
        fourth += static_cast<WideSum>(size2) * size2;
        if constexpr (kWeighted) {
          const std::uint64_t w = run.weight[forest + node];
          cross += size * w;
          weight_square += w * w;
        }
      }
    }
  }
  __syncwarp();
  add_cluster_sums(run.sums[item.word_group * 32 + replica], square, fourth);
  if constexpr (kWeighted) {
    add_weight_sums(run.sums[item.word_group * 32 + replica], cross, weight_square);
  }
}

// A cluster that is not a node flips by the random bit of its first place, a node by the lowest bit
// of its key.
template <int kDim, bool kWeighted>
__device__ __forceinline__ void label_flips(const DeviceLabelTiles& g, const LabelArgs& run,
                                            const LabelItem<kDim>& item, unsigned replica,
                                            std::uint32_t* flips) {
  node_flips<kDim, kWeighted>(g, run, item, replica, flips + kLabelRows);
  const std::uint32_t* random = item.mask(run, item.tile, kDim, replica);
  for (unsigned row = threadIdx.x % 32; row < kLabelRows; row += 32) flips[row] = random[row];
  __syncwarp();
}

// The flips of eight sites of a row from their labels.
__device__ __forceinline__ std::uint32_t eight_flips(const std::uint32_t* flips,
                                                     const uint4& labels) {
  const auto two = [&](std::uint32_t pair) {
    const std::uint32_t low = pair & 0xFFFFu, high = pair >> 16;
    return (flips[low / 32] >> low % 32 & 1u) | (flips[high / 32] >> high % 32 & 1u) << 1;
  };
  return two(labels.x) | two(labels.y) << 2 | two(labels.z) << 4 | two(labels.w) << 6;
}

template <int kDim, bool kWeighted>
__global__ void __launch_bounds__(kFlipThreads)
    flip_tile(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run) {
  __shared__ std::uint32_t tables[kFlipWarps][kLabelWords];
  __shared__ std::uint32_t stage[32 * kStage];
  const LabelItem<kDim> item(g, run, blockIdx.x);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (unsigned number = warp; number < labelled_replicas(run.houdayer); number += kFlipWarps) {
    const unsigned replica = label_replica(run.houdayer, number);
    label_flips<kDim, kWeighted>(g, run, item, replica, tables[warp]);
    const auto* labels =
        reinterpret_cast<const uint4*>(run.label + item.of_replica(replica) * kLabelTileSites);
    auto* out = reinterpret_cast<std::uint8_t*>(stage + replica * kStage);
#pragma unroll
    for (unsigned n = lane; n < kLabelTileSites / 8; n += 32) {
      out[n] = static_cast<std::uint8_t>(eight_flips(tables[warp], labels[n]));
      if (run.houdayer) out[n + kPartnerDistance * kStage * 4] = out[n];
    }
    __syncwarp();
  }
  __syncthreads();
  const auto vec = static_cast<std::uint32_t>(run.vec);
  std::uint32_t* spins = run.spins + first_word(item.all, g.lattice.words, run.vec);
  for (unsigned j = warp; j < kLabelRows; j += kFlipWarps) {
    const std::uint32_t flips = transpose_bits(stage[lane * kStage + j]);
    const TileRow row = item.row(g, j);
    if (lane >= row.count || flips == 0) continue;
    std::uint32_t colour = row.site + lane;
    if constexpr (kDim > 1) {
      colour = lane;  // tiles begin at even x
#pragma unroll
      for (int k = 1; k < kDim; ++k) {
        colour += item.at.at[k] * LabelTile<kDim>::length(k) + LabelTile<kDim>::coordinate(j, k);
      }
    }
    const std::uint32_t site = row.site + lane;
    const std::uint32_t slot =
        kDim == 0 ? g.lattice.colour_base[0] + site : g.lattice.colour_base[colour & 1u] + site / 2;
    spins[static_cast<std::size_t>(slot) * vec] ^= flips;
  }
}

// Adds the sums of one replica's update to its totals and clears them.
__global__ void close_sums(const __grid_constant__ LabelArgs run) {
  const std::uint32_t replica = blockIdx.x * blockDim.x + threadIdx.x;
  if (replica >= run.word_groups * 32) return;
  const LabelSums sums = run.sums[replica];
  run.sums[replica] = {0, 0, 0, 0, 0};
  const std::size_t at = static_cast<std::size_t>(run.first) * 32 + replica;
  WideSum total = static_cast<WideSum>(run.quartic_high[at]) << 64 | run.quartic_low[at];
  total += 3 * (static_cast<WideSum>(sums.square) * sums.square) -
           2 * (static_cast<WideSum>(sums.fourth_high) << 64 | sums.fourth_low);
  run.square[at] += sums.square;
  run.quartic_low[at] = static_cast<unsigned long long>(total);
  run.quartic_high[at] = static_cast<unsigned long long>(total >> 64);
  if (run.weight == nullptr) return;
  run.cross[at] += sums.cross;
  run.weight_square[at] += sums.weight_square;
}

}  // namespace

void launch_label_flips(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream) {
  with_dim(g.lattice.dim, [&]<int kDim>() {
    launch(run.weight == nullptr ? flip_tile<kDim, false> : flip_tile<kDim, true>,
           LaunchShape{run.word_groups * g.count, kFlipThreads}, stream, g, run);
  });
  if (run.houdayer) return;
  launch(close_sums, cover(std::uint64_t{run.word_groups} * 32, 64), stream, run);
}

}  // namespace rewise::multispin

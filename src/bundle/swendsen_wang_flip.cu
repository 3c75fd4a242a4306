// Step 5 of a Swendsen-Wang update: sites follow their roots; sums over clusters.
#include "src/bundle/swendsen_wang.cuh"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

constexpr unsigned kThreads = 512;
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kStage = kLabelRows + 1;  // words of a replica in shared memory, padded

// Random bits of a tile's places as if each were a root's: right for closed clusters and for nodes
// that are roots; the other nodes take their root's. Sums over the roots.
template <int kDim>
__device__ __forceinline__ void root_flips(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                                           const LabelItem<kDim>& item, unsigned replica,
                                           std::uint32_t* table) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t first =
      g.node_first[static_cast<std::size_t>(item.graph) * (g.count + 1) + item.tile];
  const std::size_t forest = (static_cast<std::size_t>(item.bundle) * 32 + replica) * g.nodes_most;
  std::uint64_t square = 0;
  WideSum fourth = 0;
  for (unsigned row = lane; row < kLabelRows; row += 32) {
    std::uint32_t flips = item.mask(run, kDim, replica)[row];
    const LabelRank rank = run.rank[item.of_replica(replica) * kLabelRows + row];
    std::uint32_t node = first + rank.before;
    for (std::uint32_t rest = rank.nodes; rest != 0; rest &= rest - 1, ++node) {
      const std::uint32_t root = run.parent[forest + node];
      if (root == node) {
        const std::uint64_t n = run.size[forest + node], n2 = n * n;
        square += n2;
        fourth += static_cast<WideSum>(n2) * n2;
      } else {
        const std::uint32_t bit = rest & (0u - rest);
        flips = (run.key[forest + root] & 1u) != 0 ? flips | bit : flips & ~bit;
      }
    }
    table[row] = flips;
  }
  __syncwarp();
  add_cluster_sums(run.sums[item.bundle * 32 + replica], square, fourth);
}

template <int kDim>
__global__ void __launch_bounds__(kThreads) flip_tile(const __grid_constant__ DeviceLabelTiles g,
                                                      const __grid_constant__ DeviceLabelRun run) {
  __shared__ std::uint32_t table[kWarps][kLabelRows];
  __shared__ std::uint32_t stage[32 * kStage];
  const LabelItem<kDim> item(g, run, blockIdx.x);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (unsigned replica = warp; replica < 32; replica += kWarps) {
    root_flips(g, run, item, replica, table[warp]);
    const std::uint16_t* label = run.label + item.of_replica(replica) * kLabelSites + lane;
#pragma unroll 8
    for (unsigned row = 0; row < kLabelRows; ++row) {
      const std::uint32_t root = label[32 * row];
      const std::uint32_t flips =
          __ballot_sync(~0u, (table[warp][root / 32] >> root % 32 & 1u) != 0);
      if (lane == row % 32) stage[replica * kStage + row] = flips;
    }
    __syncwarp();
  }
  __syncthreads();
  const auto vec = static_cast<std::uint32_t>(run.vec);
  std::uint32_t* spins =
      run.spins + static_cast<std::size_t>(item.all / vec) * g.lattice.words * vec + item.all % vec;
  for (unsigned j = warp; j < kLabelRows; j += kWarps) {
    const std::uint32_t flips = turn_bits(stage[lane * kStage + j]);
    const LabelRow row = item.row(g, j);
    if (lane >= row.count || flips == 0) continue;
    std::uint32_t colour = row.site + lane;
    if constexpr (kDim > 1) {
      colour = lane;  // tiles begin at even x
#pragma unroll
      for (int k = 1; k < kDim; ++k) {
        colour += item.at.at[k] * label_length<kDim>(k) + LabelTile<kDim>::coordinate(j, k);
      }
    }
    const std::uint32_t site = row.site + lane;
    const std::uint32_t slot =
        kDim == 0 ? g.lattice.colour_base[0] + site : g.lattice.colour_base[colour & 1u] + site / 2;
    spins[static_cast<std::size_t>(slot) * vec] ^= flips;
  }
}

// Closes the sums of one replica's update.
__global__ void close_sums(const __grid_constant__ DeviceLabelRun run) {
  const std::uint32_t replica = blockIdx.x * blockDim.x + threadIdx.x;
  if (replica >= run.bundles * 32) return;
  const LabelSums sums = run.sums[replica];
  run.sums[replica] = {0, 0, 0};
  const std::size_t at = static_cast<std::size_t>(run.first) * 32 + replica;
  WideSum total = static_cast<WideSum>(run.quartic_high[at]) << 64 | run.quartic_low[at];
  total += 3 * (static_cast<WideSum>(sums.square) * sums.square) -
           2 * (static_cast<WideSum>(sums.fourth_high) << 64 | sums.fourth_low);
  run.square[at] += sums.square;
  run.quartic_low[at] = static_cast<unsigned long long>(total);
  run.quartic_high[at] = static_cast<unsigned long long>(total >> 64);
}

}  // namespace

void launch_label_flip(const DeviceLabelTiles& g, const DeviceLabelRun& run, cudaStream_t stream) {
  with_label_dim(g.lattice.dim, [&]<int kDim>() {
    launch(flip_tile<kDim>, LaunchShape{run.bundles * g.count, kThreads}, stream, g, run);
  });
  launch(close_sums, cover(std::uint64_t{run.bundles} * 32, 64), stream, run);
}

void launch_swendsen_wang(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                          cudaStream_t stream) {
  launch_label_draw(g, run, stream);
  launch_label_tiles(g, run, stream);
  launch_label_join(g, run, stream);
  launch_label_settle(g, run, stream);
  launch_label_flip(g, run, stream);
}

}  // namespace rewise::bundle

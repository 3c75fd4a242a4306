// Step 5 of a Swendsen-Wang update: sites follow their roots; sums over clusters.
#include "src/bundle/swendsen_wang/swendsen_wang.cuh"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

constexpr unsigned kThreads = 512;
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kStage = kLabelRows + 1;  // words of a replica in shared memory, padded

// A warp's part of shared memory.
struct FlipTable {
  std::uint32_t places[kLabelRows];  // bit of a place: whether its cluster flips, if it is a root
  std::uint32_t nodes[kLabelRows + 2];  // likewise by the nodes of the tile
};

// The lowest bits of `bits`, in the places of the set bits of `places`.
__device__ __forceinline__ std::uint32_t deposit(std::uint32_t bits, std::uint32_t places) {
  std::uint32_t out = 0;
  for (; places != 0; places &= places - 1, bits >>= 1) {
    if ((bits & 1u) != 0) out |= places & (0u - places);
  }
  return out;
}

// What the nodes of a tile do; sums over the roots among them.
template <int kDim>
__device__ __forceinline__ void node_flips(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                                           const LabelItem<kDim>& item, unsigned replica,
                                           std::uint32_t* flips) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t first =
      g.node_first[static_cast<std::size_t>(item.graph) * (g.count + 1) + item.tile];
  const std::size_t forest = (static_cast<std::size_t>(item.bundle) * 32 + replica) * g.nodes_most;
  const std::uint32_t count = node_count(run, item.item, replica);
  std::uint64_t square = 0, cross = 0, weight_square = 0;
  WideSum fourth = 0;
  for (std::uint32_t begin = 0; begin < count; begin += 32) {
    bool flip = false;
    if (begin + lane < count) {
      const std::uint32_t node = first + begin + lane;
      flip = (run.key[forest + node] & 1u) != 0;
      if (run.parent[forest + node] == node) {
        const std::uint64_t n = run.size[forest + node], n2 = n * n;
        square += n2;
        fourth += static_cast<WideSum>(n2) * n2;
        if (run.weight != nullptr) {
          const std::uint64_t w = run.weight[forest + node];
          cross += n * w;
          weight_square += w * w;
        }
      }
    }
    const std::uint32_t all = __ballot_sync(~0u, flip);
    if (lane == 0) flips[begin / 32] = all;
  }
  __syncwarp();
  add_cluster_sums(run.sums[item.bundle * 32 + replica], square, fourth);
  if (run.weight != nullptr) {
    add_weight_sums(run.sums[item.bundle * 32 + replica], cross, weight_square);
  }
}

// Random bits of a tile's places: right for closed clusters; nodes have their own.
template <int kDim>
__device__ __forceinline__ void root_flips(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                                           const LabelItem<kDim>& item, unsigned replica,
                                           FlipTable& table) {
  node_flips(g, run, item, replica, table.nodes);
  for (unsigned row = threadIdx.x % 32; row < kLabelRows; row += 32) {
    const std::uint32_t random = item.mask(run, kDim, replica)[row];
    const LabelRank rank = run.rank[item.of_replica(replica) * kLabelRows + row];
    const std::uint32_t* from = table.nodes + rank.before / 32;
    const std::uint32_t bits = __funnelshift_r(from[0], from[1], rank.before % 32);
    table.places[row] = (random & ~rank.nodes) | deposit(bits, rank.nodes);
  }
  __syncwarp();
}

// Eight sites of every fourth row after the other, from their labels.
__device__ __forceinline__ std::uint32_t eight_flips(const std::uint32_t* places,
                                                     const uint4& labels) {
  const auto two = [&](std::uint32_t pair) {
    const std::uint32_t low = pair & 0xFFFFu, high = pair >> 16;
    return (places[low / 32] >> low % 32 & 1u) | (places[high / 32] >> high % 32 & 1u) << 1;
  };
  return two(labels.x) | two(labels.y) << 2 | two(labels.z) << 4 | two(labels.w) << 6;
}

template <int kDim>
__global__ void __launch_bounds__(kThreads) flip_tile(const __grid_constant__ DeviceLabelTiles g,
                                                      const __grid_constant__ DeviceLabelRun run) {
  __shared__ FlipTable tables[kWarps];
  __shared__ std::uint32_t stage[32 * kStage];
  const LabelItem<kDim> item(g, run, blockIdx.x);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (unsigned replica = warp; replica < 32; replica += kWarps) {
    root_flips(g, run, item, replica, tables[warp]);
    const auto* labels =
        reinterpret_cast<const uint4*>(run.label + item.of_replica(replica) * kLabelSites);
    auto* out = reinterpret_cast<std::uint8_t*>(stage + replica * kStage);
#pragma unroll
    for (unsigned n = lane; n < kLabelSites / 8; n += 32) {
      out[n] = static_cast<std::uint8_t>(eight_flips(tables[warp].places, labels[n]));
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

// Steps 3 and 4 of a Swendsen-Wang update: joining what tiles left apart, and every node's root.
#include "src/bundle/swendsen_wang.cuh"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;

// One replica of an item.
template <int kDim>
class Joiner {
 public:
  __device__ __forceinline__ Joiner(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                                    const LabelItem<kDim>& item, unsigned replica)
      : g_(g),
        run_(run),
        item_(item),
        replica_(replica),
        lane_(threadIdx.x % 32),
        forest_(forest_of(g, run, item.bundle, replica)) {}

  // The bond from the last site of a chain's tile to the next tile.
  __device__ __forceinline__ void join_chain() const {
    const std::uint32_t first = item_.tile * kLabelSites, left = g_.lattice.sites - first;
    const std::uint32_t last = (left < kLabelSites ? left : kLabelSites) - 1;
    const bool joined =
        lane_ == 0 && (item_.mask(run_, 0, replica_)[last / 32] >> last % 32 & 1u) != 0;
    join(joined, last, item_.tile + 1 == g_.count ? 0 : item_.tile + 1, 0);
  }

  // The bonds along x from the tile's last column; a lane per row.
  __device__ __forceinline__ void join_columns() const {
    const std::uint32_t x = item_.at.last[0], ahead = item_.at.ahead(g_.along, 0);
    for (unsigned row = lane_; row < kLabelRows; row += 32) {
      const bool joined =
          item_.row(g_, row).count > 0 && (item_.mask(run_, 0, replica_)[row] >> x & 1u) != 0;
      join(joined, 32 * row + x, ahead, 32 * row);
    }
  }

  // The bonds along direction k >= 1 from the tile's last rows; a lane per site.
  __device__ __forceinline__ void join_faces(int k) const {
    const std::uint32_t ahead = item_.at.ahead(g_.along, k), last = item_.at.last[k];
    const std::uint32_t stride = label_stride<kDim>(k), length = label_length<kDim>(k);
    for (unsigned n = 0; n < kLabelRows / length; ++n) {
      const unsigned there = n / stride * stride * length + n % stride;
      const unsigned row = there + last * stride;
      if (item_.row(g_, row).count == 0) continue;
      const std::uint32_t bonds = item_.mask(run_, k, replica_)[row];
      if (bonds == 0) continue;
      join((bonds >> lane_ & 1u) != 0, 32 * row + lane_, ahead, 32 * there + lane_);
    }
  }

 private:
  // By the whole warp.
  __device__ __forceinline__ void join(bool joined, std::uint32_t place, std::uint32_t other_tile,
                                       std::uint32_t other_place) const {
    std::uint32_t a = 0, b = 0;
    if (joined) {
      a = node_at(g_, run_, item_.graph, item_.bundle, replica_, item_.tile, place);
      b = node_at(g_, run_, item_.graph, item_.bundle, replica_, other_tile, other_place);
    }
    // The bond to the left often joins the same two clusters.
    const bool left_joined = __shfl_up_sync(~0u, static_cast<unsigned>(joined), 1) != 0;
    const std::uint32_t left_a = __shfl_up_sync(~0u, a, 1), left_b = __shfl_up_sync(~0u, b, 1);
    const bool known = lane_ != 0 && left_joined && left_a == a && left_b == b;
    if (joined && !known) forest_.unite(a, b);
    __syncwarp();
  }

  const DeviceLabelTiles& g_;
  const DeviceLabelRun& run_;
  const LabelItem<kDim>& item_;
  const unsigned replica_, lane_;
  const NodeForest forest_;
};

// A warp joins what lies ahead of a tile of one replica.
template <int kDim>
__global__ void __launch_bounds__(kThreads) join_tiles(const __grid_constant__ DeviceLabelTiles g,
                                                       const __grid_constant__ DeviceLabelRun run) {
  const LabelItem<kDim> item(g, run, blockIdx.x / (32 / kWarps));
  const Joiner<kDim> joiner(g, run, item, blockIdx.x % (32 / kWarps) * kWarps + threadIdx.x / 32);
  if constexpr (kDim == 1) joiner.join_chain();
  if constexpr (kDim > 1) {
    joiner.join_columns();
#pragma unroll
    for (int k = 1; k < kDim; ++k) joiner.join_faces(k);
  }
}

// A warp takes a listed bond of a bundle, a lane its replica.
__global__ void __launch_bounds__(kThreads)
    join_listed(const __grid_constant__ DeviceLabelTiles g,
                const __grid_constant__ DeviceLabelRun run, std::uint32_t blocks_per_bundle) {
  const std::uint32_t bundle = blockIdx.x / blocks_per_bundle;
  const std::uint32_t graph = (run.first + bundle) / g.bundles;
  const std::uint32_t i = blockIdx.x % blocks_per_bundle * kWarps + threadIdx.x / 32;
  if (i >= g.listed_count[graph]) return;
  const unsigned replica = threadIdx.x % 32;
  const std::uint32_t open = run.listed_open[static_cast<std::size_t>(bundle) * g.listed_most + i];
  if ((open >> replica & 1u) == 0) return;
  const LabelBond bond = g.listed[static_cast<std::size_t>(graph) * g.listed_most + i];
  const std::uint32_t a =
      node_at(g, run, graph, bundle, replica, bond.tile_a, bond.places & 0xFFFFu);
  const std::uint32_t b = node_at(g, run, graph, bundle, replica, bond.tile_b, bond.places >> 16);
  forest_of(g, run, bundle, replica).unite(a, b);
}

// A warp goes over the nodes of a tile of one replica. No set changes any more; each parent is set
// once. Near and below Tc most tiles have many nodes of one large cluster: the warp adds them up
// before they are added to the root's size.
__global__ void __launch_bounds__(kThreads)
    settle_nodes(const __grid_constant__ DeviceLabelTiles g,
                 const __grid_constant__ DeviceLabelRun run) {
  constexpr std::uint32_t kNone = ~0u;
  const std::uint32_t item = blockIdx.x / (32 / kWarps);
  const unsigned replica = blockIdx.x % (32 / kWarps) * kWarps + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t bundle = item / g.count, tile = item - bundle * g.count;
  const std::uint32_t graph = (run.first + bundle) / g.bundles;
  const LabelRank rank =
      run.rank[(static_cast<std::size_t>(item) * 32 + replica) * kLabelRows + kLabelRows - 1];
  const std::uint32_t nodes = rank.before + static_cast<std::uint32_t>(__popc(rank.nodes));
  const std::uint32_t first = g.node_first[static_cast<std::size_t>(graph) * (g.count + 1) + tile];
  const NodeForest forest = forest_of(g, run, bundle, replica);
  std::uint32_t* size = run.size + (static_cast<std::size_t>(bundle) * 32 + replica) * g.nodes_most;
  for (std::uint32_t n = 0; n < nodes; n += 32) {
    std::uint32_t root = kNone, sum = 0;
    if (n + lane < nodes) {
      const std::uint32_t node = first + n + lane;
      const std::uint32_t top = forest.climb(node);
      if (top != node) {
        forest.store(node, top);
        root = top;
        sum = size[node];
      }
    }
    __syncwarp();
    const std::uint32_t peers = __match_any_sync(~0u, root);
    const std::uint32_t total = __reduce_add_sync(peers, sum);
    if (root != kNone && lane == lowest_bit(peers)) atomicAdd(size + root, total);
  }
}

}  // namespace

void launch_label_join(const DeviceLabelTiles& g, const DeviceLabelRun& run, cudaStream_t stream) {
  const std::uint32_t blocks = run.bundles * g.count * (32 / kWarps);
  with_label_dim(g.lattice.dim, [&]<int kDim>() {
    if (kDim > 0) launch(join_tiles<kDim>, LaunchShape{blocks, kThreads}, stream, g, run);
  });
  if (g.listed_most == 0) return;
  const std::uint32_t listed = (g.listed_most + kWarps - 1) / kWarps;
  launch(join_listed, LaunchShape{run.bundles * listed, kThreads}, stream, g, run, listed);
}

void launch_label_settle(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                         cudaStream_t stream) {
  const std::uint32_t blocks = run.bundles * g.count * (32 / kWarps);
  launch(settle_nodes, LaunchShape{blocks, kThreads}, stream, g, run);
}

}  // namespace rewise::bundle

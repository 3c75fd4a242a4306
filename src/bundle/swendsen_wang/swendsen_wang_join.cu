// Steps 3 and 4 of a Swendsen-Wang update: joining what tiles left apart, and every node's root.
#include "src/bundle/swendsen_wang/swendsen_wang.cuh"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kBlocks = 2048 / kThreads;  // per multiprocessor, that registers suffice for
constexpr unsigned kListedBonds = 1024, kListedThreads = 128;  // of a block

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

// A warp's tile of one replica; those of a replica follow each other.
struct ReplicaTile {
  std::uint32_t bundle, replica, tile;

  __device__ __forceinline__ explicit ReplicaTile(const DeviceLabelTiles& g) {
    const std::uint32_t index = blockIdx.x * kWarps + threadIdx.x / 32, one = index / g.count;
    bundle = one / 32;
    replica = one % 32;
    tile = index - one * g.count;
  }
};

// A warp joins what lies ahead of a tile of one replica.
template <int kDim>
__global__ void __launch_bounds__(kThreads, kBlocks)
    join_tiles(const __grid_constant__ DeviceLabelTiles g,
               const __grid_constant__ DeviceLabelRun run) {
  const ReplicaTile at(g);
  const LabelItem<kDim> item(g, run, at.bundle * g.count + at.tile);
  const Joiner<kDim> joiner(g, run, item, at.replica);
  if constexpr (kDim == 1) joiner.join_chain();
  if constexpr (kDim > 1) {
    joiner.join_columns();
#pragma unroll
    for (int k = 1; k < kDim; ++k) joiner.join_faces(k);
  }
}

// Listed bonds of one replica, those that are open as pairs of nodes.
struct ListedPairs {
  std::uint32_t a[kListedBonds], b[kListedBonds];
  std::uint32_t count, next;
};

// Puts the numbers of open bonds into pairs.a.
__device__ __forceinline__ void find_open(const std::uint32_t* open, unsigned replica,
                                          std::uint32_t begin, std::uint32_t count,
                                          ListedPairs& pairs) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned n = 0; n < kListedBonds / kListedThreads; ++n) {
    const std::uint32_t i = begin + n * kListedThreads + threadIdx.x;
    const bool is_open = i < count && (open[i] >> replica & 1u) != 0;
    const std::uint32_t all = __ballot_sync(~0u, is_open);
    std::uint32_t at = 0;
    if (lane == 0) at = atomicAdd(&pairs.count, static_cast<std::uint32_t>(__popc(all)));
    at = __shfl_sync(~0u, at, 0) + static_cast<std::uint32_t>(__popc(all & ~(~0u << lane)));
    if (is_open) pairs.a[at] = i;
  }
}

// By a block that has waited for find_open().
__device__ __forceinline__ void find_pairs(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                                           std::uint32_t bundle, unsigned replica,
                                           ListedPairs& pairs) {
  const std::uint32_t graph = (run.first + bundle) / g.bundles;
  const LabelEnds* all = g.ends + static_cast<std::size_t>(graph) * g.listed_most;
  for (std::uint32_t at = threadIdx.x; at < pairs.count; at += kListedThreads) {
    const LabelEnds ends = all[pairs.a[at]];
    pairs.a[at] = node_at(g, run, graph, bundle, replica, ends.tile_a, ends.places & 0xFFFFu);
    pairs.b[at] = node_at(g, run, graph, bundle, replica, ends.tile_b, ends.places >> 16);
  }
}

// A thread takes the next pair when it has joined one: ways up differ in length.
__device__ __forceinline__ void join_pairs(const NodeForest& forest, ListedPairs& pairs) {
  std::uint32_t at = threadIdx.x;
  if (at >= pairs.count) return;
  ForestWalk walk = forest.start(pairs.a[at], pairs.b[at]);
  for (;;) {
    if (!forest.step(walk)) continue;
    at = atomicAdd(&pairs.next, 1u);
    if (at >= pairs.count) return;
    walk = forest.start(pairs.a[at], pairs.b[at]);
  }
}

__global__ void __launch_bounds__(kListedThreads)
    join_listed(const __grid_constant__ DeviceLabelTiles g,
                const __grid_constant__ DeviceLabelRun run, std::uint32_t blocks_per_replica) {
  __shared__ ListedPairs pairs;
  const std::uint32_t one = blockIdx.x / blocks_per_replica, bundle = one / 32, replica = one % 32;
  if (threadIdx.x == 0) {
    pairs.count = 0;
    pairs.next = kListedThreads;
  }
  __syncthreads();
  find_open(run.listed_open + static_cast<std::size_t>(bundle) * g.listed_most, replica,
            (blockIdx.x - one * blocks_per_replica) * kListedBonds,
            g.listed_count[(run.first + bundle) / g.bundles], pairs);
  __syncthreads();
  find_pairs(g, run, bundle, replica, pairs);
  __syncthreads();
  join_pairs(forest_of(g, run, bundle, replica), pairs);
}

// From nodes to their roots, where no set changes any more: plain loads, which may be cached.
template <unsigned kCount>
__device__ __forceinline__ void climb_all(const std::uint32_t* parent,
                                          std::uint32_t (&node)[kCount]) {
  for (std::uint32_t moved = 1; moved != 0;) {
    moved = 0;
#pragma unroll
    for (unsigned n = 0; n < kCount; ++n) {
      const std::uint32_t up = parent[node[n]];
      moved |= up ^ node[n];
      node[n] = up;
    }
  }
}

// A warp goes over the nodes of a tile of one replica: they take their root's key, and add their
// sizes to its. Near and below Tc most tiles have many nodes of one large cluster: the warp adds
// them up before they are added to the root's size.
__global__ void __launch_bounds__(kThreads)
    settle_nodes(const __grid_constant__ DeviceLabelTiles g,
                 const __grid_constant__ DeviceLabelRun run) {
  constexpr std::uint32_t kNone = ~0u;
  constexpr unsigned kAtOnce = 4;
  const ReplicaTile at(g);
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t graph = (run.first + at.bundle) / g.bundles;
  const std::uint32_t count = node_count(run, at.bundle * g.count + at.tile, at.replica);
  const std::uint32_t first =
      g.node_first[static_cast<std::size_t>(graph) * (g.count + 1) + at.tile];
  const std::size_t forest = (static_cast<std::size_t>(at.bundle) * 32 + at.replica) * g.nodes_most;
  const std::uint32_t* parent = run.parent + forest;
  std::uint32_t *key = run.key + forest, *size = run.size + forest;
  std::uint32_t* weight = run.weight == nullptr ? nullptr : run.weight + forest;
  for (std::uint32_t begin = 0; begin < count; begin += 32 * kAtOnce) {
    std::uint32_t top[kAtOnce];
#pragma unroll
    for (unsigned n = 0; n < kAtOnce; ++n) {
      const std::uint32_t number = begin + 32 * n + lane;
      top[n] = first + (number < count ? number : begin);
    }
    climb_all(parent, top);
#pragma unroll
    for (unsigned n = 0; n < kAtOnce; ++n) {
      const std::uint32_t number = begin + 32 * n + lane, node = first + number;
      std::uint32_t root = kNone, sum = 0, heavy = 0;
      if (number < count && top[n] != node) {
        root = top[n];
        key[node] = key[root];
        sum = size[node];
        if (weight != nullptr) heavy = weight[node];
      }
      const std::uint32_t peers = __match_any_sync(~0u, root);
      const std::uint32_t total = __reduce_add_sync(peers, sum);
      if (root != kNone && lane == lowest_bit(peers)) atomicAdd(size + root, total);
      if (weight == nullptr) continue;
      const std::uint32_t weights = __reduce_add_sync(peers, heavy);
      if (weights != 0 && lane == lowest_bit(peers)) atomicAdd(weight + root, weights);
    }
  }
}

}  // namespace

void launch_label_join(const DeviceLabelTiles& g, const DeviceLabelRun& run, cudaStream_t stream) {
  const std::uint32_t blocks = run.bundles * g.count * (32 / kWarps);
  with_label_dim(g.lattice.dim, [&]<int kDim>() {
    if (kDim > 0) launch(join_tiles<kDim>, LaunchShape{blocks, kThreads}, stream, g, run);
  });
  if (g.listed_most == 0) return;
  const std::uint32_t listed = (g.listed_most + kListedBonds - 1) / kListedBonds;
  launch(join_listed, LaunchShape{run.bundles * 32 * listed, kListedThreads}, stream, g, run,
         listed);
}

void launch_label_settle(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                         cudaStream_t stream) {
  const std::uint32_t blocks = run.bundles * g.count * (32 / kWarps);
  launch(settle_nodes, LaunchShape{blocks, kThreads}, stream, g, run);
}

}  // namespace rewise::bundle

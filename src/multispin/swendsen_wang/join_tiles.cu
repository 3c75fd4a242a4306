// Steps 3 and 4 of Swendsen-Wang updates on the device (swendsen_wang_cuda.hpp): join the clusters
// of different tiles, and look up every node's root.
#include "src/multispin/swendsen_wang/label_item.cuh"

namespace rewise::multispin {
namespace {

using namespace device;

constexpr unsigned kNodeThreads = 256;
constexpr unsigned kNodeWarps = kNodeThreads / 32;
constexpr unsigned kNodeBlocks =
    2048 / kNodeThreads;             // per multiprocessor; limits the registers per thread
constexpr unsigned kJoinQueue = 64;  // of a warp
constexpr unsigned kListedBonds = 1024, kListedThreads = 128;  // of a block

// Joins a tile of one replica to the next tile in each direction. Open bonds go through a queue, so
// that full warps join them.
template <int kDim>
class Joiner {
 public:
  // `queue`: [kJoinQueue] in shared memory, the warp's own.
  __device__ __forceinline__ Joiner(const DeviceLabelTiles& g, const LabelArgs& run,
                                    const LabelItem<kDim>& item, unsigned replica,
                                    std::uint32_t* queue)
      : g_(g),
        run_(run),
        item_(item),
        replica_(replica),
        lane_(threadIdx.x % 32),
        queue_(queue),
        forest_(forest_of(g, run, item.word_group, replica)) {
    if constexpr (kDim == 1) ahead_[0] = item_.tile + 1 == g_.count ? 0 : item_.tile + 1;
    if constexpr (kDim > 1) {
#pragma unroll
      for (int k = 0; k < kDim; ++k) ahead_[k] = item_.at.forward(g_.along, k);
    }
  }

  // The bond from the last site of a tile of a chain to the next tile.
  __device__ __forceinline__ void join_chain() {
    const std::uint32_t last = item_.last_place(g_, item_.tile);
    const bool joined = lane_ == 0 && (mask(0)[last / 32] >> last % 32 & 1u) != 0;
    push(joined, 0, last, 0);
    finish();
  }

  // The bonds along x from the tile's last column, a lane per row; then those along the other
  // directions from its last rows, a lane per site.
  __device__ __forceinline__ void join_faces() {
    const std::uint32_t x = item_.at.last[0];
    for (unsigned row = lane_; row < kLabelRows; row += 32) {
      push((mask(0)[row] >> x & 1u) != 0, 0, 32 * row + x, 32 * row);
    }
#pragma unroll
    for (int k = 1; k < kDim; ++k) {
      const unsigned stride = LabelTile<kDim>::stride(k), length = LabelTile<kDim>::length(k);
      const unsigned last = item_.at.last[k] * stride;
      for (unsigned n = 0; n < kLabelRows / length; ++n) {
        const unsigned row = n / stride * stride * length + n % stride;
        const std::uint32_t bonds = mask(k)[row + last];
        push((bonds >> lane_ & 1u) != 0, k, 32 * (row + last) + lane_, 32 * row + lane_);
      }
    }
    finish();
  }

 private:
  __device__ __forceinline__ const std::uint32_t* mask(int k) const {
    return item_.mask(run_, item_.tile, k, replica_);
  }

  // The following functions are called by the whole warp.
  __device__ __forceinline__ void push(bool joined, int direction, std::uint32_t place,
                                       std::uint32_t other_place) {
    const std::uint32_t finders = __ballot_sync(~0u, joined);
    if (finders == 0) return;
    if (joined) {
      const auto others = static_cast<unsigned>(__popc(finders & ((1u << lane_) - 1)));
      queue_[waiting_ + others] =
          (static_cast<unsigned>(direction) * kLabelTileSites + other_place) * kLabelTileSites +
          place;
    }
    waiting_ += static_cast<unsigned>(__popc(finders));
    __syncwarp();
    if (waiting_ < 32) return;
    waiting_ -= 32;
    join(true, queue_[waiting_ + lane_]);
  }
  __device__ __forceinline__ void finish() {
    if (waiting_ > 0) join(lane_ < waiting_, lane_ < waiting_ ? queue_[lane_] : 0);
  }

  __device__ __forceinline__ void join(bool joined, std::uint32_t bond) {
    std::uint32_t a = 0, b = 0;
    if (joined) {
      const std::uint32_t direction = bond / (kLabelTileSites * kLabelTileSites);
      std::uint32_t other = ahead_[0];
#pragma unroll
      for (unsigned k = 1; k < kDim; ++k) {
        if (direction == k) other = ahead_[k];
      }
      a = node_at(g_, run_, item_.graph, item_.word_group, replica_, item_.tile,
                  bond % kLabelTileSites);
      b = node_at(g_, run_, item_.graph, item_.word_group, replica_, other,
                  bond / kLabelTileSites % kLabelTileSites);
    }
    // The previous bond often joins the same two clusters.
    const std::uint32_t last_a = __shfl_up_sync(~0u, a, 1), last_b = __shfl_up_sync(~0u, b, 1);
    const bool known = lane_ != 0 && last_a == a && last_b == b;
    if (joined && !known) forest_.unite(a, b);
    __syncwarp();
  }

  const DeviceLabelTiles& g_;
  const LabelArgs& run_;
  const LabelItem<kDim>& item_;
  const unsigned replica_, lane_;
  std::uint32_t* const queue_;
  unsigned waiting_ = 0;
  const NodeForest forest_;
  std::uint32_t ahead_[kDim > 0 ? kDim : 1]{};  // tiles
};

// The tile and replica of a warp. The tiles of one replica are consecutive.
struct ReplicaTile {
  std::uint32_t word_group, replica, tile;

  __device__ __forceinline__ ReplicaTile(const DeviceLabelTiles& g, bool houdayer) {
    const std::uint32_t index = blockIdx.x * kNodeWarps + threadIdx.x / 32, one = index / g.count;
    word_group = one / labelled_replicas(houdayer);
    replica = label_replica(houdayer, one % labelled_replicas(houdayer));
    tile = index - one * g.count;
  }
};

// A warp joins a tile of one replica to the next tile in each direction.
template <int kDim>
__global__ void __launch_bounds__(kNodeThreads, kNodeBlocks)
    join_tiles(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run) {
  __shared__ std::uint32_t queues[kNodeWarps][kJoinQueue];
  const ReplicaTile at(g, run.houdayer);
  const LabelItem<kDim> item(g, run, at.word_group * g.count + at.tile);
  Joiner<kDim> joiner(g, run, item, at.replica, queues[threadIdx.x / 32]);
  if constexpr (kDim == 1) joiner.join_chain();
  if constexpr (kDim > 1) joiner.join_faces();
}

// Open listed bonds of one replica as pairs of nodes.
struct ListedPairs {
  std::uint32_t a[kListedBonds], b[kListedBonds];
  std::uint32_t count, next;
};

// Writes the indices of open bonds to pairs.a.
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

// Replaces the indices by pairs of nodes. Called by a block after find_open() and a barrier.
__device__ __forceinline__ void find_pairs(const DeviceLabelTiles& g, const LabelArgs& run,
                                           std::uint32_t word_group, unsigned replica,
                                           ListedPairs& pairs) {
  const std::uint32_t graph = (run.first + word_group) / g.word_groups;
  const ListedBondEnds* all = g.ends + static_cast<std::size_t>(graph) * g.listed_most;
  for (std::uint32_t at = threadIdx.x; at < pairs.count; at += kListedThreads) {
    const ListedBondEnds ends = all[pairs.a[at]];
    pairs.a[at] = node_at(g, run, graph, word_group, replica, ends.tile_a, ends.places & 0xFFFFu);
    pairs.b[at] = node_at(g, run, graph, word_group, replica, ends.tile_b, ends.places >> 16);
  }
}

// A thread takes the next pair as soon as it has joined one, because paths to roots differ in
// length.
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
    join_listed(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run,
                std::uint32_t blocks_per_replica) {
  __shared__ ListedPairs pairs;
  const std::uint32_t one = blockIdx.x / blocks_per_replica,
                      word_group = one / labelled_replicas(run.houdayer),
                      replica = label_replica(run.houdayer, one % labelled_replicas(run.houdayer));
  if (threadIdx.x == 0) {
    pairs.count = 0;
    pairs.next = kListedThreads;
  }
  __syncthreads();
  find_open(run.listed_open + static_cast<std::size_t>(word_group) * g.listed_most, replica,
            (blockIdx.x - one * blocks_per_replica) * kListedBonds,
            g.listed_count[(run.first + word_group) / g.word_groups], pairs);
  __syncthreads();
  find_pairs(g, run, word_group, replica, pairs);
  __syncthreads();
  join_pairs(forest_of(g, run, word_group, replica), pairs);
}

// Replaces nodes by their roots. The sets do not change any more, so plain (cached) loads suffice.
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

// A warp processes the nodes of a tile of one replica: each node gets the key of its root, and its
// size is added to the root's. Near and below Tc most tiles of a plane have many nodes of one large
// cluster, so the warp first sums the sizes of nodes with a common root, for up to two roots.
template <bool kWeighted>
__global__ void __launch_bounds__(kNodeThreads)
    root_nodes(const __grid_constant__ DeviceLabelTiles g, const __grid_constant__ LabelArgs run) {
  constexpr std::uint32_t kNone = ~0u;
  constexpr unsigned kAtOnce = 4;
  const ReplicaTile at(g, run.houdayer);
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t graph = (run.first + at.word_group) / g.word_groups;
  const std::uint32_t count =
      run.nodes[(static_cast<std::size_t>(at.word_group) * g.count + at.tile) * 32 + at.replica];
  const std::uint32_t first =
      g.node_first[static_cast<std::size_t>(graph) * (g.count + 1) + at.tile];
  const std::size_t forest =
      (static_cast<std::size_t>(at.word_group) * 32 + at.replica) * g.nodes_most;
  const std::uint32_t* parent = run.parent + forest;
  std::uint32_t *key = run.key + forest, *size = run.size + forest;
  std::uint32_t* weight = kWeighted ? run.weight + forest : nullptr;
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
        if (kWeighted) heavy = weight[node];
      }
#pragma unroll
      for (int common = 0; common < 2; ++common) {
        const std::uint32_t left = __ballot_sync(~0u, root != kNone);
        if (left == 0) break;
        const std::uint32_t one = __shfl_sync(~0u, root, static_cast<int>(lowest(left)));
        const std::uint32_t total = __reduce_add_sync(~0u, root == one ? sum : 0);
        std::uint32_t weights = 0;
        if (kWeighted) weights = __reduce_add_sync(~0u, root == one ? heavy : 0);
        if (lane == lowest(left)) {
          atomicAdd(size + one, total);
          if (kWeighted && weights != 0) atomicAdd(weight + one, weights);
        }
        if (root == one) root = kNone;
      }
      if (root != kNone) {
        atomicAdd(size + root, sum);
        if (kWeighted && heavy != 0) atomicAdd(weight + root, heavy);
      }
    }
  }
}

}  // namespace

void launch_tile_joins(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream) {
  const std::uint32_t replicas = run.word_groups * labelled_replicas(run.houdayer);
  const std::uint32_t blocks = replicas / kNodeWarps * g.count;
  with_dim(g.lattice.dim, [&]<int kDim>() {
    if (kDim > 0) launch(join_tiles<kDim>, LaunchShape{blocks, kNodeThreads}, stream, g, run);
  });
  if (g.listed_most == 0) return;
  const std::uint32_t listed = (g.listed_most + kListedBonds - 1) / kListedBonds;
  launch(join_listed, LaunchShape{replicas * listed, kListedThreads}, stream, g, run, listed);
}

void launch_node_roots(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream) {
  const std::uint32_t blocks =
      run.word_groups * labelled_replicas(run.houdayer) / kNodeWarps * g.count;
  launch(run.weight == nullptr ? root_nodes<false> : root_nodes<true>,
         LaunchShape{blocks, kNodeThreads}, stream, g, run);
}

}  // namespace rewise::multispin

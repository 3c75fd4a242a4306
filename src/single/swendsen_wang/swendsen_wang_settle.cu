// Step 4 of a Swendsen-Wang update: every node's root, and the sizes of the roots' clusters.
#include "src/cuda/forest.cuh"
#include "src/cuda/launch.hpp"
#include "src/single/swendsen_wang/node_list.cuh"
#include "src/single/swendsen_wang/swendsen_wang_kernels.hpp"

namespace rewise::single {
namespace {

using namespace device;

constexpr unsigned kWarps = 4;  // per block
constexpr Site kNone = 0xFFFFFFFFu;

// Adds sizes to roots. Near and below Tc most nodes are of one large cluster, whose size would be
// the bottleneck: the most frequent root of a tile's first 32 nodes is summed up to the end.
class RootSums {
 public:
  __device__ __forceinline__ explicit RootSums(std::uint32_t* size) : size_(size) {}

  // By all lanes; a lane without a root gives kNone.
  __device__ __forceinline__ void add(Site root, std::uint32_t size) {
    const std::uint32_t peers = __match_any_sync(~0u, root);
    if (kept_ == kNone) choose(root, peers);
    const std::uint32_t total = __reduce_add_sync(peers, size);
    if (root == kept_) {
      sum_ += size;
    } else if (root != kNone && threadIdx.x % 32 == lowest(peers)) {
      atomicAdd(size_ + root, total);
    }
  }
  __device__ __forceinline__ void close() {
    const std::uint32_t total = __reduce_add_sync(~0u, sum_);
    if (threadIdx.x % 32 == 0 && total > 0) atomicAdd(size_ + kept_, total);
  }

 private:
  __device__ __forceinline__ void choose(Site root, std::uint32_t peers) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned votes = root == kNone ? 0 : static_cast<unsigned>(__popc(peers)) << 5 | lane;
    kept_ = __shfl_sync(~0u, root, static_cast<int>(__reduce_max_sync(~0u, votes) & 31u));
  }

  std::uint32_t* const size_;
  Site kept_ = kNone;  // the same on all lanes
  std::uint32_t sum_ = 0;
};

// No set changes any more; each parent is set once.
template <int kDim>
__device__ __forceinline__ void settle_tile(const DeviceLabels& labels,
                                            const DeviceSystems& systems, std::uint32_t who,
                                            std::uint32_t tile, std::uint16_t* list) {
  const unsigned lane = threadIdx.x % 32;
  const SystemLabels system(labels, who, systems.stride);
  const ParentForest forest{system.parent};
  const std::uint64_t nodes = system.nodes[static_cast<std::size_t>(tile) * kTileLanes + lane];
  const unsigned count = list_nodes(nodes, list);
  if (count == 0) return;
  __syncwarp();
  const Site first = tile_word<kDim>(labels.tiles, labels.geometry, tile, lane).first;
  RootSums sums(system.size);
  for_each_node(list, count, first, [&](bool there, Site node, std::uint32_t) {
    const Site root = there ? forest.climb(node) : node;
    const bool moves = root != node;
    if (moves) forest.store(node, root);
    sums.add(moves ? root : kNone, moves ? system.size[node] : 0);
  });
  sums.close();
}

template <int kDim>
__global__ void __launch_bounds__(32 * kWarps)
    settle_nodes(const __grid_constant__ DeviceLabels labels,
                 const __grid_constant__ DeviceSystems systems, FastDiv tiles_per_system) {
  __shared__ std::uint16_t lists[kWarps][kTileSites];
  const std::uint32_t index = blockIdx.x * kWarps + threadIdx.x / 32;
  const std::uint32_t who = tiles_per_system.quotient(index);
  if (who >= systems.systems) return;
  const std::uint32_t tile = index - who * tiles_per_system.divisor;
  settle_tile<kDim>(labels, systems, who, tile, lists[threadIdx.x / 32]);
}

}  // namespace

void launch_settle(const DevicePlan& plan, const DeviceLabels& labels, const DeviceSystems& systems,
                   cudaStream_t stream) {
  const std::uint32_t tiles = labels.tiles.count * systems.systems;
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    launch(settle_nodes<kDim>, {(tiles + kWarps - 1) / kWarps, 32 * kWarps}, stream, labels,
           systems, FastDiv(labels.tiles.count));
  });
}

}  // namespace rewise::single

#include "src/bytespin/swendsen_wang/labels.cuh"
#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/bytespin/wolff/few_cluster_cuda.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bytespin {
namespace {

using namespace device;

constexpr unsigned kWarps = 4;  // per block

// Inputs and outputs of the kernels of an update.
struct FewClusterRun {
  DeviceLabels labels;
  DeviceReplicas replicas;
  SeedTiles tiles;
  Threshold flip;
  std::uint32_t states;
  std::uint32_t* marks;
  unsigned long long* visited;

  __device__ __forceinline__ std::uint8_t* marks_of(std::uint32_t replica) const {
    return reinterpret_cast<std::uint8_t*>(marks) + std::size_t{replica} * replicas.stride;
  }
};

// Counts the sites of a closed cluster, by a warp.
template <int kDim>
__device__ __forceinline__ std::uint32_t closed_size(const DeviceLabels& labels,
                                                     const ReplicaLabels& arrays,
                                                     const SiteRoot& root) {
  const unsigned lane = threadIdx.x % 32;
  const TileWord word = tile_word<kDim>(labels.tiles, labels.geometry, root.tile, lane);
  std::uint32_t size = 0;
  for (unsigned row = 0; row < kTileLanes; ++row) {
    const std::uint32_t count = __shfl_sync(~0u, word.count, row);
    const Site first = __shfl_sync(~0u, word.first, row);
    for (unsigned x = lane; x < count; x += 32) size += arrays.place[first + x] == root.place;
  }
  return __reduce_add_sync(~0u, size);
}

// Seeds of one cluster write the same mark; the first seed counts its sites.
template <int kDim>
__device__ __forceinline__ void mark_cluster(const FewClusterRun& run, std::uint32_t replica,
                                             std::uint32_t tile) {
  const ReplicaLabels arrays(run.labels, replica, run.replicas.stride);
  const DrawKey key = run.replicas.key(replica);
  const SeedTiles::Seed seed = run.tiles.seed(tile, seed_words(key, tile));
  const SiteRoot root = site_root<kDim>(run.labels, arrays, seed.site);
  const std::uint64_t size =
      root.open ? arrays.size[root.root] : closed_size<kDim>(run.labels, arrays, root);
  if (threadIdx.x % 32 != 0) return;
  const std::uint32_t old = run.replicas.spins_of(replica)[seed.site];
  const std::uint32_t mark = few_cluster_state(key, root.root, run.flip, old, run.states) + 1u;
  const unsigned shift = 8 * (root.root & 3u);
  auto* const words = reinterpret_cast<std::uint32_t*>(run.marks_of(replica));
  const std::uint32_t before = atomicOr(words + (root.root >> 2), mark << shift);
  if ((before >> shift & 0xffu) == 0) {
    atomicAdd(run.visited + 2 * std::size_t{replica}, static_cast<unsigned long long>(size));
  }
  atomicAdd(run.replicas.pending + replica,
            static_cast<unsigned long long>(seed.tile_sites * size));
}

template <int kDim>
__global__ void __launch_bounds__(32 * kWarps)
    mark_clusters(const __grid_constant__ FewClusterRun run, FastDiv seeds_per_replica) {
  const std::uint32_t index = blockIdx.x * kWarps + threadIdx.x / 32;
  const std::uint32_t replica = seeds_per_replica.quotient(index);
  if (replica >= run.replicas.count) return;
  mark_cluster<kDim>(run, replica, index - replica * seeds_per_replica.divisor);
}

// A warp's part of shared memory.
struct TileMarks {
  std::uint8_t mark[kTileSites];   // by place of the root
  std::uint16_t node[kTileSites];  // places of the nodes
};

// The sites of a tile take the states in the marks of their roots.
template <int kDim, bool kWide>
__device__ __forceinline__ void renew_tile(const FewClusterRun& run, std::uint32_t replica,
                                           std::uint32_t number, TileMarks& tile) {
  const unsigned lane = threadIdx.x % 32;
  const ReplicaLabels arrays(run.labels, replica, run.replicas.stride);
  const std::uint8_t* const marks = run.marks_of(replica);
  const TileWord word = tile_word<kDim>(run.labels.tiles, run.labels.geometry, number, lane);
  bool any = false;
  for (unsigned row = 0; row < kTileLanes; ++row) {
    const std::uint32_t count = __shfl_sync(~0u, word.count, row);
    const Site first = __shfl_sync(~0u, word.first, row);
    for (unsigned x = lane; x < count; x += 32) {
      tile.mark[kWordSites * row + x] = marks[first + x];
      any = any || marks[first + x] != 0;
    }
  }
  const std::uint64_t nodes = arrays.nodes[std::size_t{number} * kTileLanes + lane];
  const unsigned count = list_nodes(nodes, tile.node);
  __syncwarp();
  for_each_node(tile.node, count, word.first, [&](bool there, Site node, std::uint32_t place) {
    if (!there) return;
    const std::uint8_t of_root = marks[arrays.parent[node]];
    tile.mark[place] = of_root;
    any = any || of_root != 0;
  });
  __syncwarp();
  if (!__any_sync(~0u, any)) return;
  renew_sites<kWide>(arrays, word, run.replicas.spins_of(replica),
                     [&](std::uint32_t place, std::uint8_t old) {
                       const unsigned m = tile.mark[place];
                       return m != 0 ? static_cast<std::uint8_t>(m - 1) : old;
                     });
}

template <int kDim, bool kWide>
__global__ void __launch_bounds__(32 * kWarps)
    renew_marked(const __grid_constant__ FewClusterRun run, FastDiv tiles_per_replica) {
  __shared__ TileMarks tiles[kWarps];
  const std::uint32_t index = blockIdx.x * kWarps + threadIdx.x / 32;
  const std::uint32_t replica = tiles_per_replica.quotient(index);
  if (replica >= run.replicas.count) return;
  renew_tile<kDim, kWide>(run, replica, index - replica * tiles_per_replica.divisor,
                          tiles[threadIdx.x / 32]);
}

LaunchShape warps_for(std::uint64_t warps) {
  return {static_cast<unsigned>((warps + kWarps - 1) / kWarps), 32 * kWarps};
}

}  // namespace

FewClusterCuda::FewClusterCuda(const DevicePlan& plan, const FewClusterRule& rule,
                               const DeviceReplicas& replicas, cudaStream_t stream)
    : plan_(plan),
      rule_(rule),
      labelling_(plan, replicas, stream),
      marks_(replicas.count * replicas.stride / sizeof(std::uint32_t)) {}

std::uint64_t FewClusterCuda::bytes(const DevicePlan& plan, std::uint32_t replicas,
                                    std::uint64_t replica_stride) {
  return SwendsenWangCuda::bytes(plan, replicas, replica_stride) + replicas * replica_stride;
}

void FewClusterCuda::run(const DeviceReplicas& replicas, std::uint32_t updates,
                         unsigned long long* visited, cudaStream_t stream) {
  DeviceReplicas now = replicas;
  for (std::uint32_t n = 0; n < updates; ++n, ++now.step) update(now, visited, stream);
}

void FewClusterCuda::update(const DeviceReplicas& replicas, unsigned long long* visited,
                            cudaStream_t stream) {
  labelling_.label(replicas, 0, stream);
  const DeviceLabels& labels = labelling_.labels();
  launch_find_roots(plan_, labels, replicas, stream);
  marks_.clear(stream);
  const FewClusterRun run{labels,       replicas,      rule_.tiles, rule_.flip,
                          plan_.states, marks_.data(), visited};
  const std::uint32_t seeds = rule_.tiles.tiles(), tiles = labels.tiles.count;
  const bool wide = labels.tiles.length % 16 == 0;
  with_dim(plan_.lattice.dim, [&]<int kDim>() {
    launch(mark_clusters<kDim>, warps_for(std::uint64_t{seeds} * replicas.count), stream, run,
           FastDiv(seeds));
    launch(wide ? renew_marked<kDim, true> : renew_marked<kDim, false>,
           warps_for(std::uint64_t{tiles} * replicas.count), stream, run, FastDiv(tiles));
  });
}

}  // namespace rewise::bytespin

#include "src/bytespin/swendsen_wang/labels.cuh"
#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/bytespin/wolff/seed_clusters_cuda.hpp"

namespace rewise::bytespin {
namespace {

using namespace device;

constexpr unsigned kWarps = 4;  // per block

// Inputs and outputs of the kernels of an update.
struct SeedRun {
  DeviceLabels labels;
  DeviceReplicas replicas;
  SeedTiles tiles;
  Threshold flip;
  std::uint32_t states;
  bool wolff;
  std::uint32_t* marks;

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
__device__ __forceinline__ void mark_cluster(const SeedRun& run, std::uint32_t replica,
                                             std::uint32_t tile) {
  const ReplicaLabels arrays(run.labels, replica, run.replicas.stride);
  const DrawKey key = run.replicas.key(replica);
  const Words4 words = seed_words(key, tile);
  const SeedTiles::Seed seed = run.tiles.seed(tile, words);
  const SiteRoot root = site_root<kDim>(run.labels, arrays, seed.site);
  const std::uint64_t size =
      root.open ? arrays.size[root.root] : closed_size<kDim>(run.labels, arrays, root);
  if (threadIdx.x % 32 != 0) return;
  const std::uint32_t old = run.replicas.spins_of(replica)[seed.site];
  const std::uint32_t mark =
      1u + (run.wolff ? wolff_state(words, old, run.states)
                      : few_cluster_state(key, root.root, run.flip, old, run.states));
  const unsigned shift = 8 * (root.root & 3u);
  auto* const marks = reinterpret_cast<std::uint32_t*>(run.marks_of(replica));
  const std::uint32_t before = atomicOr(marks + (root.root >> 2), mark << shift);
  if ((before >> shift & 0xffu) == 0) {
    atomicAdd(run.replicas.quartic + 2 * std::size_t{replica},
              static_cast<unsigned long long>(size));
  }
  atomicAdd(run.replicas.pending + replica,
            static_cast<unsigned long long>(run.wolff ? size : seed.tile_sites * size));
}

template <int kDim>
__global__ void __launch_bounds__(32 * kWarps)
    mark_clusters(const __grid_constant__ SeedRun run, ReplicaBlocks seeds) {
  const auto [replica, seed] = warp_position(seeds);
  if (replica < run.replicas.count) mark_cluster<kDim>(run, replica, seed);
}

// A warp's part of shared memory.
struct TileMarks {
  std::uint8_t mark[kTileSites];   // by place of the root
  std::uint16_t node[kTileSites];  // places of the nodes
};

// The sites of a tile take the states in the marks of their roots.
template <int kDim, bool kWide>
__device__ __forceinline__ void renew_tile(const SeedRun& run, std::uint32_t replica,
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
    const std::uint8_t root_mark = marks[arrays.parent[node]];
    tile.mark[place] = root_mark;
    any = any || root_mark != 0;
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
    renew_marked(const __grid_constant__ SeedRun run, ReplicaBlocks tiles) {
  __shared__ TileMarks marks[kWarps];
  const auto [replica, tile] = warp_position(tiles);
  if (replica < run.replicas.count) {
    renew_tile<kDim, kWide>(run, replica, tile, marks[threadIdx.x / 32]);
  }
}

}  // namespace

SeedClustersCuda::SeedClustersCuda(const GraphView& graph,
                                   const std::optional<FewClusterRule>& rule,
                                   const DeviceReplicas& replicas, cudaStream_t stream)
    : graph_(graph),
      wolff_(!rule),
      tiles_(rule ? rule->tiles : SeedTiles::make(graph.lattice, graph.sites, ~0u)),
      flip_(rule ? rule->flip : 0),
      labelling_(graph, replicas, stream),
      marks_(replicas.count * replicas.stride / sizeof(std::uint32_t)) {}

std::uint64_t SeedClustersCuda::bytes(const GraphView& graph, std::uint32_t replicas) {
  return SwendsenWangCuda::bytes(graph, replicas) + replicas * replica_stride(graph.sites);
}

void SeedClustersCuda::run(const DeviceReplicas& replicas, std::uint32_t updates,
                           cudaStream_t stream) {
  DeviceReplicas now = replicas;
  for (std::uint32_t n = 0; n < updates; ++n, ++now.step) update(now, stream);
}

void SeedClustersCuda::update(const DeviceReplicas& replicas, cudaStream_t stream) {
  labelling_.label(replicas, 0, stream);
  const DeviceLabels& labels = labelling_.labels();
  launch_find_roots(graph_, labels, replicas, stream);
  marks_.clear(stream);
  const SeedRun run{labels, replicas, tiles_, flip_, graph_.states, wolff_, marks_.data()};
  const bool wide = labels.tiles.length % 16 == 0;
  with_dim(graph_.lattice.dim, [&]<int kDim>() {
    launch_warps<kWarps>(mark_clusters<kDim>, tiles_.tiles(), replicas.count, stream, run);
    launch_warps<kWarps>(wide ? renew_marked<kDim, true> : renew_marked<kDim, false>,
                         labels.tiles.count, replicas.count, stream, run);
  });
}

}  // namespace rewise::bytespin

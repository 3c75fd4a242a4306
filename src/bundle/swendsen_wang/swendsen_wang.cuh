// What the kernels of a Swendsen-Wang update share (swendsen_wang_cuda.hpp): where an item lies,
// runs of 32 sites, the forest over all tiles, sums.
#pragma once

#include <cstdint>

#include "src/bundle/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/cuda/bits.cuh"
#include "src/cuda/forest.cuh"
#include "src/cuda/warp_sum.cuh"

namespace rewise::bundle::device {

// A tile of a bundle.
template <int kDim>
struct LabelItem {
  std::uint32_t item, bundle, tile, all, graph;  // all: the bundle among all graphs'
  std::uint32_t extent[4];
  LabelTile<kDim> at;

  __device__ __forceinline__ LabelItem(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                                       std::uint32_t n)
      : item(n),
        bundle(n / g.count),
        tile(n - bundle * g.count),
        all(run.first + bundle),
        graph(all / g.bundles),
        extent{g.lattice.extent0, g.lattice.extent1, g.lattice.extent2, g.lattice.extent3},
        at(extent, g.along, tile) {}

  __device__ __forceinline__ LabelRow row(const DeviceLabelTiles& g, std::uint32_t j) const {
    return at.row(extent, g.lattice.sites, j);
  }
  // Mask k of a replica, or all replicas' from replica 0 on. [64]
  __device__ __forceinline__ std::uint32_t* mask(const DeviceLabelRun& run, int k,
                                                 unsigned replica) const {
    return run.masks +
           (static_cast<std::size_t>(item) * (kDim + 1) + static_cast<unsigned>(k)) * kLabelSites +
           replica * kLabelRows;
  }
  __device__ __forceinline__ std::size_t of_replica(unsigned replica) const {
    return static_cast<std::size_t>(item) * 32 + replica;
  }
};

// The lowest `count` bits, count <= 32.
__device__ __forceinline__ std::uint32_t lowest_bits(std::uint32_t count) {
  return count == 0 ? 0 : ~0u >> (32 - count);
}
__device__ __forceinline__ unsigned lowest_bit(std::uint32_t bits) {
  return static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1;
}

// Where the run starts that holds the highest bit of `up_to`; a bit of `starts` is where one does.
__device__ __forceinline__ unsigned run_start(std::uint32_t starts, std::uint32_t up_to) {
  return 31 - static_cast<unsigned>(__clz(static_cast<int>(starts & up_to)));
}
// The sites of a row up to and with x.
__device__ __forceinline__ std::uint32_t up_to(unsigned x) { return ~0u >> (31 - x); }

// The first marked site of every run that has one. Adding a bit at each run's start to the
// unmarked sites carries up to the first marked one; the last site of a run stops every carry.
__device__ __forceinline__ std::uint32_t first_of_runs(std::uint32_t starts, std::uint32_t marked) {
  const std::uint32_t stops = marked | starts >> 1 | 1u << 31;
  return (~stops + starts) & marked;
}

// The starts of the runs that have a mark (one at most); the same, downwards.
__device__ __forceinline__ std::uint32_t starts_of(std::uint32_t starts, std::uint32_t marks) {
  const std::uint32_t stops = __brev(starts);
  return __brev((~stops + __brev(marks)) & stops);
}

// The nodes of one replica, in the order of their keys.
struct NodeForest : ParentForest {
  const std::uint32_t* key;

  __device__ __forceinline__ bool step(ForestWalk& walk) const {
    return ParentForest::step(walk,
                              [this](std::uint32_t a, std::uint32_t b) { return key[a] < key[b]; });
  }
  __device__ __forceinline__ void unite(std::uint32_t a, std::uint32_t b) const {
    ForestWalk walk = start(a, b);
    while (!step(walk)) {
    }
  }
};

__device__ __forceinline__ NodeForest forest_of(const DeviceLabelTiles& g,
                                                const DeviceLabelRun& run, std::uint32_t bundle,
                                                unsigned replica) {
  const std::size_t first = (static_cast<std::size_t>(bundle) * 32 + replica) * g.nodes_most;
  return {{run.parent + first}, run.key + first};
}

// The node of a site's cluster.
__device__ __forceinline__ std::uint32_t node_at(const DeviceLabelTiles& g,
                                                 const DeviceLabelRun& run, std::uint32_t graph,
                                                 std::uint32_t bundle, unsigned replica,
                                                 std::uint32_t tile, std::uint32_t place) {
  const std::size_t at = (static_cast<std::size_t>(bundle) * g.count + tile) * 32 + replica;
  const std::uint32_t root = run.label[at * kLabelSites + place];
  const LabelRank rank = run.rank[at * kLabelRows + root / 32];
  const std::uint32_t below = rank.nodes & ((1u << root % 32) - 1);
  return g.node_first[static_cast<std::size_t>(graph) * (g.count + 1) + tile] + rank.before +
         static_cast<std::uint32_t>(__popc(below));
}

// Nodes of a tile of one replica.
__device__ __forceinline__ std::uint32_t node_count(const DeviceLabelRun& run, std::uint32_t item,
                                                    unsigned replica) {
  const LabelRank last =
      run.rank[(static_cast<std::size_t>(item) * 32 + replica) * kLabelRows + kLabelRows - 1];
  return last.before + static_cast<std::uint32_t>(__popc(last.nodes));
}

// By a whole warp; its lanes' sums go to one replica's.
__device__ __forceinline__ void add_cluster_sums(LabelSums& sums, std::uint64_t square,
                                                 WideSum fourth) {
  if (!__any_sync(~0u, square != 0)) return;
  square = warp_sum(square);
  fourth = warp_sum(fourth);
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&sums.square, static_cast<unsigned long long>(square));
  atomic_add_wide(&sums.fourth_low, &sums.fourth_high, fourth);
}

// Likewise, of the sums with weights.
__device__ __forceinline__ void add_weight_sums(LabelSums& sums, std::uint64_t cross,
                                                std::uint64_t square) {
  if (!__any_sync(~0u, square != 0)) return;
  cross = warp_sum(cross);
  square = warp_sum(square);
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&sums.cross, static_cast<unsigned long long>(cross));
  atomicAdd(&sums.weight_square, static_cast<unsigned long long>(square));
}

// Calls f.template operator()<kDim>() with the lattice's dimension (host).
template <class F>
void with_label_dim(int dim, F&& f) {
  switch (dim) {
    case 0:
      return f.template operator()<0>();
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    default:
      return f.template operator()<4>();
  }
}

}  // namespace rewise::bundle::device

// Shared by the steps of Swendsen-Wang updates on the device (swendsen_wang_cuda.hpp): the tile of
// an item, masks on their way between words of replicas and words of sites, and the forest over all
// tiles.
#pragma once

#include "graphs/lattice.hpp"
#include "src/cuda/bits.cuh"
#include "src/cuda/forest.cuh"
#include "src/cuda/launch.hpp"
#include "src/multispin/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/multispin/words.cuh"

namespace rewise::multispin::device {

// A tile of a word group.
template <int kDim>
struct LabelItem {
  std::uint32_t item, word_group, tile, all, graph;  // all: the word group's number in all graphs
  std::uint32_t masks;                               // number of masks per tile
  LabelTile<kDim> at;

  __device__ __forceinline__ LabelItem(const DeviceLabelTiles& g, const LabelArgs& run,
                                       std::uint32_t n)
      : item(n),
        word_group(n / g.count),
        tile(n - word_group * g.count),
        all(run.first + word_group),
        graph(all / g.word_groups),
        masks(masks_per_tile(kDim, g.listed_most > 0, run.ghost != nullptr)),
        at(g.lattice.extent, g.along, tile) {}

  __device__ __forceinline__ TileRow row(const DeviceLabelTiles& g, std::uint32_t j) const {
    return at.row(g.lattice.extent, g.lattice.sites, j);
  }
  // The last place of tile n of a one-dimensional lattice.
  __device__ __forceinline__ std::uint32_t last_place(const DeviceLabelTiles& g,
                                                      std::uint32_t n) const {
    const std::uint32_t left = g.lattice.sites - n * kLabelTileSites;
    return (left < kLabelTileSites ? left : kLabelTileSites) - 1;
  }
  // Mask k of a replica in tile n of this word group, [64]. With replica 0: those of all replicas,
  // [32][64].
  __device__ __forceinline__ std::uint32_t* mask(const LabelArgs& run, std::uint32_t n, int k,
                                                 unsigned replica) const {
    return run.masks +
           (static_cast<std::size_t>(item - tile + n) * masks + static_cast<unsigned>(k)) *
               kLabelTileSites +
           replica * kLabelRows;
  }
  __device__ __forceinline__ std::size_t of_replica(unsigned replica) const {
    return static_cast<std::size_t>(item) * 32 + replica;
  }
};

// The index of the mask of the sites that are bound to the ghost spin.
template <int kDim>
__device__ __forceinline__ int bound_mask(const DeviceLabelTiles& g) {
  return static_cast<int>(masks_per_tile(kDim, g.listed_most > 0, false));
}

constexpr unsigned kStage = kLabelRows + 1;  // words of a replica in shared memory, padded

// The union-find forest over the nodes of one replica. A root has the smallest key of its set.
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

__device__ __forceinline__ NodeForest forest_of(const DeviceLabelTiles& g, const LabelArgs& run,
                                                std::uint32_t word_group, unsigned replica) {
  const std::size_t first = (static_cast<std::size_t>(word_group) * 32 + replica) * g.nodes_most;
  return {{run.parent + first}, run.key + first};
}

// The node of an open site's cluster.
__device__ __forceinline__ std::uint32_t node_at(const DeviceLabelTiles& g, const LabelArgs& run,
                                                 std::uint32_t graph, std::uint32_t word_group,
                                                 unsigned replica, std::uint32_t tile,
                                                 std::uint32_t place) {
  const std::size_t at = (static_cast<std::size_t>(word_group) * g.count + tile) * 32 + replica;
  return g.node_first[static_cast<std::size_t>(graph) * (g.count + 1) + tile] +
         run.label[at * kLabelTileSites + place] - kNodeLabel;
}

}  // namespace rewise::multispin::device

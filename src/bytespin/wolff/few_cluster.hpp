// Few-cluster update (Weigel 2011, section III): the lattice is cut into tiles, each tile draws a
// seed site, and every cluster that contains a seed flips with a probability below one. Clusters
// are those of Swendsen-Wang on the whole lattice; clusters without a seed do not change. Except
// for the flip probability, one tile gives Wolff's update, and tiles of one site give
// Swendsen-Wang's.
//
// Detailed balance holds because seeds and bonds do not depend on the new states of clusters, and
// because a change of state is as probable as its reverse. The update is ergodic only because a
// cluster may keep its state: if all found clusters flipped, a single spin could never flip alone.
// A cluster with several seeds gets a single draw. Potts: a flipped cluster gets one of the q - 1
// other states.
//
// A seed is any site of its tile with equal probability. Therefore the mean of the sum over seeds
// of (sites of the tile) x (size of the seed's cluster) is the sum of n_c^2 over all clusters: an
// improved estimator of N^2 <m^2> without extra cost.
//
// Draws (rules.hpp): bonds as for Swendsen-Wang, stream bytespin_bond by draw index; the seed of
// tile t from stream bytespin_seed, item t; the decision of a cluster from stream bytespin_flip,
// item = its smallest site. Every method that finds the clusters therefore gives the same
// trajectory. On the CPU, clusters grow from the seeds as in wolff.hpp; the cost is proportional to
// the number of sites in them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "graphs/lattice.hpp"
#include "src/bytespin/cluster_updater.hpp"
#include "src/bytespin/graph_tables.hpp"
#include "src/bytespin/rules.hpp"

namespace rewise::bytespin {

// The tiles that the lattice is cut into, x fastest. Tiles at the end of a direction are smaller if
// the edge does not divide the extent. An imported graph is one row of all its sites.
struct SeedTiles {
  std::uint32_t extent[kMaxDim]{};
  std::uint32_t edge[kMaxDim]{};   // of a whole tile, at most the extent
  std::uint32_t count[kMaxDim]{};  // tiles along a direction

  // `edge` 0 chooses 16 tiles in one, two and four dimensions, and 8 in three: a "relatively small"
  // number (Weigel 2011). With still fewer tiles, the update decorrelates like Wolff's.
  static SeedTiles make(const Lattice& lattice, std::uint64_t sites, std::uint32_t edge) {
    constexpr std::uint32_t default_count[] = {16, 16, 4, 2,
                                               2};  // tiles along a direction, by dimension
    SeedTiles tiles;
    for (unsigned k = 0; k < kMaxDim; ++k) {
      const bool row = lattice.dim == 0 && k == 0;
      tiles.extent[k] = row ? static_cast<std::uint32_t>(sites) : lattice.extent[k];
      const std::uint32_t parts = default_count[lattice.dim];
      const std::uint32_t whole = edge > 0 ? edge : (tiles.extent[k] - 1) / parts + 1;
      tiles.edge[k] = std::min(whole, tiles.extent[k]);
      tiles.count[k] = (tiles.extent[k] - 1) / tiles.edge[k] + 1;
    }
    return tiles;
  }

  RW_HD std::uint32_t tiles() const { return count[0] * count[1] * count[2] * count[3]; }

  struct Seed {
    Site site;
    std::uint32_t tile_sites;  // sites of the tile that drew it
  };
  // Draws a site of a tile with equal probability.
  RW_HD Seed seed(std::uint32_t tile, const Words4& words) const {
    std::uint32_t length[kMaxDim], first[kMaxDim], sites = 1;
    for (unsigned k = 0; k < kMaxDim; ++k) {
      first[k] = tile % count[k] * edge[k];
      tile /= count[k];
      length[k] = extent[k] - first[k] < edge[k] ? extent[k] - first[k] : edge[k];
      sites *= length[k];
    }
    std::uint32_t index = uniform_below(word64(words, 0), sites);  // within the tile
    Site site = 0, stride = 1;
    for (unsigned k = 0; k < kMaxDim; ++k) {
      site += (first[k] + index % length[k]) * stride;
      index /= length[k];
      stride *= extent[k];
    }
    return {site, sites};
  }
};

// The new state of a cluster that contains a seed: with the flip probability any of the q - 1 other
// states, uniformly; else the old one.
RW_HD std::uint8_t few_cluster_state(const DrawKey& key, Site smallest, Threshold flip,
                                     std::uint32_t old, std::uint32_t q) {
  const Words4 words = key.words(Stream::bytespin_flip, smallest);
  return is_below(words.w[0], flip) ? other_state(words.w[1], old, q)
                                    : static_cast<std::uint8_t>(old);
}

struct FewClusterRule {
  FewClusterRule(const Graph& graph, const EngineSpec& spec)
      : tiles(SeedTiles::make(graph.lattice(), graph.sites(), spec.few_cluster.tile)),
        flip(threshold(spec.few_cluster.flip)) {}

  SeedTiles tiles;
  Threshold flip;  // of a probability below 1
};

std::unique_ptr<ClusterUpdater> make_few_cluster(const GraphTables& tables,
                                                 const FewClusterRule& rule);

}  // namespace rewise::bytespin

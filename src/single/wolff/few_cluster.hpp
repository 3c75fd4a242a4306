// Few-cluster update (Weigel 2011, section III): the lattice is cut into tiles, each tile draws a
// seed site, and every cluster (of the whole lattice, over Swendsen-Wang's bonds) that holds a seed
// flips with a probability below one; all others stay. Logically a full Swendsen-Wang decomposition
// of which the clusters of some random sites are flipped: with one tile Wolff's update but for the
// flip probability, with tiles of one site Swendsen-Wang's with another flip probability.
//
// Detailed balance: seeds and bonds do not depend on which states clusters take, and a cluster goes
// from one state to another as often as back. Ergodic only since a cluster may stay as it is:
// with all found clusters flipped, a single spin could never flip alone. A cluster decides once,
// however many seeds it holds. Potts: it takes one of the q - 1 other states.
//
// The sum over seeds of (sites of the tile) x (size of the seed's cluster) has the mean sum n_c^2
// over all clusters, since a seed is any site of its tile with equal chance: the improved estimator
// of N^2 <m^2>, free.
//
// Draws: few_cluster_rules.hpp. Here clusters grow from the seeds as Wolff's do (wolff.hpp): costs
// what the clusters found hold, not the lattice.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/single/plan.hpp"
#include "src/single/wolff/few_cluster_rules.hpp"
#include "src/single/wolff/wolff.hpp"

namespace rewise::single {

struct FewClusterRule {
  FewClusterRule(const Graph& graph, const EngineSpec& spec)
      : tiles(SeedTiles::make(graph.lattice(), graph.sites(), spec.few_cluster_tile)),
        flip(threshold(spec.few_cluster_flip)) {}

  SeedTiles tiles;
  Threshold flip;  // below certainty
};

// A thread's work space; fits every system of the plan.
struct FewClusterScratch {
  explicit FewClusterScratch(const Plan& plan)
      : growth(plan), cluster(std::make_unique_for_overwrite<std::uint32_t[]>(plan.sites)) {}

  struct Cluster {
    std::uint64_t begin, end;  // its sites in growth.queue
    std::uint64_t tile_sites;  // of the tiles whose seeds it holds
    std::uint8_t old;          // state
  };

  WolffScratch growth;
  std::unique_ptr<std::uint32_t[]> cluster;  // [sites] number of a visited site's cluster
  std::vector<Cluster> clusters;
};

struct FewClusterSums {
  std::uint64_t visited = 0;  // sites; 0 where the watch stopped it and all was taken back
  std::uint64_t square = 0;   // sum over seeds of tile_sites x cluster size
};

FewClusterSums few_cluster_update(const Plan& plan, const FewClusterRule& rule,
                                  const Tables& tables, const DrawKey& key, StopWatch& watch,
                                  FewClusterScratch& scratch, std::span<std::uint8_t> spins);

}  // namespace rewise::single

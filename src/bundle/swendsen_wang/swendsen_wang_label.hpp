// The clusters of one replica from bit masks of its open bonds: union-find over runs
// (src/label/runs-inl.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graphs/graph.hpp"
#include "src/label/cluster_sums.hpp"
#include "src/label/run_table.hpp"

namespace rewise::bundle {

// The ends of a bond, as RunTable::place().
struct PlacePair {
  std::uint64_t a, b;
};

// A site's weight; place as RunTable::place().
struct PlaceWeight {
  std::uint64_t place;
  std::uint32_t weight;
};

// Open bonds of one replica; masks in site order, two words longer than the sites need.
struct OpenBonds {
  const std::uint32_t* direction[kMaxDim];  // of a site's bond ahead
  const std::uint32_t* listed;              // [listed bonds] bit `replica`
  unsigned replica;
};

// A thread's working memory.
struct LabelScratch {
  LabelScratch(const Lattice& lattice, std::uint64_t sites)
      : runs(lattice, sites),
        size(std::make_unique_for_overwrite<std::uint32_t[]>(sites + 1)),
        flip(std::make_unique_for_overwrite<std::uint8_t[]>(sites + 1)) {}

  RunTable runs;
  std::unique_ptr<std::uint32_t[]> size;  // [sites + 1] of a cluster
  std::unique_ptr<std::uint8_t[]> flip;   // [sites + 1] of a cluster
  std::vector<std::uint32_t> weight;      // [sites + 1] of a cluster; zero between calls
  std::vector<std::uint32_t> weighted;    // [weights] cluster of each
};

// `flips` holds a random bit per site, which decides for a cluster if the site is its smallest, and
// becomes the mask of the sites that flip. listed: the ends of the listed bonds.
ClusterSums label_and_flip(const Lattice& lattice, const std::vector<PlacePair>& listed,
                           const std::vector<PlaceWeight>& weights, const OpenBonds& open,
                           std::uint32_t* flips, LabelScratch& scratch);

}  // namespace rewise::bundle

// The clusters of one replica from bit masks of its open bonds: union-find over runs.
//
// A run is a stretch of a row (along x) that open bonds join; runs are numbered in site order, so
// the smallest run of a cluster holds its smallest site at its start. A bond across rows is skipped
// where its left neighbour has already joined the same two runs. Parents are never larger than
// their children, so a pass in ascending order meets every cluster's smallest site first.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graphs/graph.hpp"

namespace rewise::bundle {

__extension__ using Wide = unsigned __int128;

// Over clusters, n their sizes; added up over updates.
struct ClusterSums {
  std::uint64_t square = 0;  // sum n^2
  Wide quartic = 0;          // 3 (sum n^2)^2 - 2 sum n^4
};

struct SitePair {
  Site a, b;
};

// A lattice by rows along x; an imported graph is one row whose sites no bond joins.
struct RowLattice {
  std::uint32_t sites = 0, length = 0, rows = 0;
  std::uint32_t row_words = 0;       // 64 sites each
  unsigned directions = 0;           // beyond x
  std::vector<std::uint32_t> ahead;  // [rows][directions]
};

// Open bonds of one replica; masks in site order, two words longer than the sites need.
struct OpenBonds {
  const std::uint32_t* direction[kMaxDim];  // of a site's bond ahead
  const std::uint32_t* listed;              // [pairs.size()] bit `replica`
  unsigned replica;
};

// A thread's working memory.
struct LabelScratch {
  explicit LabelScratch(const RowLattice& lattice);

  // 64 sites of a row.
  struct RowWord {
    std::uint64_t starts;  // bit x: a run starts here
    std::uint32_t before;  // runs that start before this word
  };
  std::vector<RowWord> words;              // [rows][row_words]
  std::unique_ptr<std::uint32_t[]> label;  // [sites] parent of a run, then its cluster's number
  std::unique_ptr<std::uint32_t[]> size;   // [sites + 1] of a cluster
  std::unique_ptr<std::uint8_t[]> flip;    // [sites + 1] of a cluster
};

// `flips` holds a random bit per site, which decides for a cluster if the site is its smallest, and
// becomes the mask of the sites that flip.
ClusterSums label_and_flip(const RowLattice& lattice, const std::vector<SitePair>& pairs,
                           const OpenBonds& open, std::uint32_t* flips, LabelScratch& scratch);

}  // namespace rewise::bundle

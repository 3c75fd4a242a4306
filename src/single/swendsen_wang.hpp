// Swendsen-Wang update (Swendsen & Wang 1987): bonds between equal spins are drawn with probability
// 1 - exp(-2 beta); every cluster flips with probability 1/2 (Potts:
// 1 - exp(-beta), and a new state for every cluster). The flip is addressed by the
// cluster's smallest site, so that any labelling gives the same trajectory.
//
// Labelling: union-find over runs. A run is a stretch of a row (along x) that drawn bonds join;
// runs are numbered in site order, so the smallest run of a cluster holds its smallest site at its
// start. Rows are bit masks, and a bond across rows is skipped where its left neighbour has already
// joined the same two runs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/single/plan.hpp"

namespace rewise::single {

__extension__ using Wide = unsigned __int128;

// Over the clusters of one update, n their sizes.
struct ClusterSums {
  std::uint64_t square = 0;  // sum n^2
  Wide quartic = 0;          // 3 (sum n^2)^2 - 2 sum n^4
};

// A thread's work space; fits every system of the plan.
struct SwendsenWangScratch {
  // 64 sites of a row.
  struct RowWord {
    std::uint64_t starts;  // bit x: a run starts here
    std::uint64_t before;  // runs that start before this word
  };
  struct RewiredEnds {
    std::uint64_t slot;
    Site a, b;
    std::uint64_t at_a, at_b;  // 64 * (index of the row word) + bit
  };

  explicit SwendsenWangScratch(const Plan& plan);

  std::uint64_t length, rows;  // of the lattice along x; an imported graph is one row without bonds
  std::uint64_t row_words;     // 64-site words per row
  std::vector<std::uint64_t> drawn;        // [slots / 64 + 8] masks of drawn bonds
  std::vector<std::uint64_t> flip_draws;   // [sites / 64 + 2] a random bit per site
  std::vector<RowWord> words;              // [rows][row_words]
  std::vector<RewiredEnds> rewired;        // [rewired bonds]
  std::vector<std::uint8_t> rewired_on;    // [rewired bonds] drawn
  std::unique_ptr<std::uint32_t[]> label;  // [sites] parent of a run, later its cluster's number
  std::unique_ptr<std::uint32_t[]> size;   // [sites + 1] of a cluster
  std::unique_ptr<std::uint8_t[]> flip;    // [sites + 1] of a cluster
};

ClusterSums swendsen_wang_update(const Plan& plan, const Tables& tables, const DrawKey& key,
                                 SwendsenWangScratch& scratch, std::span<std::uint8_t> spins);

// Wolff update (wolff.hpp) by labelling: all clusters are labelled, the one of the seed takes the
// new state. Costs as much as a Swendsen-Wang update, however small the cluster. Returns its size.
std::uint64_t wolff_by_labels(const Plan& plan, const Tables& tables, const DrawKey& key,
                              SwendsenWangScratch& scratch, std::span<std::uint8_t> spins);

}  // namespace rewise::single

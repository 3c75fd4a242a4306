// Local updates of a word group: Metropolis (Metropolis et al. 1953) and Glauber (heat bath, 1963),
// colour by colour, every site of a colour once. A site with D disagreeing of k neighbours flips
// when its binary fraction is below the threshold of s h = k - 2 D (DegreeTable); Hawick, Leist &
// Playne 2010 section 5 for the split of unmodified and modified cells.
//
// Cells of a lattice whose neighbour list is modified are first updated into a side array (they
// read other colours only), then the regular kernel runs over whole rows, then the side array is
// written over what it left in the modified cells; where the layout lists every cell, no row is
// updated. Cost on one AVX-512 core: some 40 ns per 16 sites of a row, 80 per 16 listed cells.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/model/model.hpp"
#include "src/multispin/layout.hpp"
#include "src/multispin/rules.hpp"
#include "src/multispin/thread_team.hpp"

namespace rewise::multispin {

// Thresholds of a local update, laid out for bit-sliced comparison.
//
// For a site of degree k with D disagreeing neighbours, s h = k - 2 D. Metropolis accepts s h <= 0
// without a draw; every other D (all of them under Glauber) is a class, with a threshold of at most
// 2^32 - 1. Its binary digits are kept as words of all zeros or all ones, so that digit n of every
// replica's threshold is the OR over classes of (replicas in the class) & bit[n][class].
// Metropolis: classes D = 0 .. ceil(k/2) - 1; Glauber: D = 0 .. k; in this order.
struct DegreeTable {
  std::uint32_t degree = 0;
  std::vector<Threshold> acceptance;  // [degree + 1], by D
  std::uint32_t classes = 0;          // D = 0 .. classes - 1 need a draw
  std::vector<std::uint32_t> bit;     // [32][classes]: 0 or ~0

  DegreeTable() = default;
  DegreeTable(std::uint32_t k, const Model& model, double beta, LocalUpdate update) : degree(k) {
    for (std::uint32_t d = 0; d <= k; ++d) {
      const int sh = static_cast<int>(k) - 2 * static_cast<int>(d);
      if (certain_downhill(update) && sh <= 0) {
        acceptance.push_back(kCertain);
        continue;
      }
      acceptance.push_back(model.flip_digits(update, beta, sh));
      ++classes;
    }
    bit.reserve(std::size_t{32} * classes);
    for (unsigned n = 0; n < 32; ++n) {
      for (std::uint32_t c = 0; c < classes; ++c) {
        bit.push_back(threshold_digit(acceptance[c], n) ? ~0u : 0u);
      }
    }
  }
};

// One table per degree that occurs, ascending: a hub costs its own table, not one for every degree
// below it.
struct LocalTables {
  std::vector<DegreeTable> by_degree;
  Stream stream;
  bool downhill;

  const DegreeTable& of(std::uint32_t degree) const {
    return *std::lower_bound(
        by_degree.begin(), by_degree.end(), degree,
        [](const DegreeTable& table, std::uint32_t wanted) { return table.degree < wanted; });
  }
};

// New words of the modified cells [first, last) of a group, written to fresh[first..last). `first`
// and `last` are multiples of kGuard.
void update_modified(const ModifiedGroup& group, const LocalTables& tables, const Address& at,
                     const std::uint32_t* spins, std::uint32_t first, std::uint32_t last,
                     std::uint32_t* fresh);

// Updates rows [first, last) of a colour as if no cell were modified; with layout.by_table, [first,
// last) are vectors of kGuard words instead.
void update_regular(const Layout& layout, const LocalTables& tables, const Address& at, int colour,
                    std::uint32_t first, std::uint32_t last, std::uint32_t* spins);

// A whole sweep of one word group by a team of threads: colour by colour, modified cells aside,
// regular rows, modified cells written over.
//
// How far a sweep has come: the colours before this one, and rows [0, row) of it (with
// layout.by_table: vectors of kGuard words).
struct SweepPlace {
  std::uint32_t colour = 0, row = 0;
  bool operator==(const SweepPlace&) const = default;
};

// `fresh`, [modified_room(layout)], is scratch for the modified cells' new words, shared by the
// team. Begins at `place`; false where the team was stopped, at `place`. Each member has a `place`
// of its own, all alike.
bool local_sweep(const Layout& layout, const LocalTables& tables, const Address& at,
                 const ThreadTeam& team, StopWatch& watch, std::uint32_t* fresh,
                 std::uint32_t* spins, SweepPlace& place);
std::size_t modified_room(const Layout& layout);

}  // namespace rewise::multispin

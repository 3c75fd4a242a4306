// Local updates of a word group: Metropolis (Metropolis et al. 1953) and heat bath (Glauber 1963).
// A sweep updates one colour after the other and each site once. A site with k neighbours, of which
// D disagree, flips if its binary fraction (rules.hpp) is below the threshold for s h = k - 2 D
// (DegreeTable). In a field the number of neighbours that are up replaces D.
//
// Unmodified and modified cells are updated separately (Hawick, Leist & Playne 2010, section 5).
// For each colour, the new words of the modified cells are first computed into a side array, from
// words of the other colours only. Then whole rows are updated as if no cell were modified. Finally
// the side array is copied over the words of the modified cells. If the layout lists every cell, as
// it must without rows (Layout::has_rows()), no row is updated. Cost on one AVX-512 core: about 40
// ns per 16 sites of a row and 80 ns per 16 listed cells.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "src/model/model.hpp"
#include "src/multispin/layout.hpp"
#include "src/multispin/rules.hpp"
#include "src/multispin/thread_team.hpp"

namespace rewise::multispin {

// Thresholds of a local update in a form for bit-sliced comparison.
//
// For a site of degree k with D unsatisfied bonds, s h = k - 2 D. Metropolis accepts s h <= 0
// without a draw. Every other D (with Glauber every D) is a class with a threshold of at most
// 2^32 - 1. The binary digits of a threshold are stored as words of zeros or ones, so that digit n
// of the thresholds of all replicas is the OR over classes of (replicas in the class) &
// bit[n][class]. The classes are D = 0 .. ceil(k/2) - 1 for Metropolis and D = 0 .. k for Glauber,
// in this order.
//
// In a field h, the classes are u = 0 .. k neighbours whose coupling favours spin up, so that the
// energy of a flip is 2 s h', h' = 2 u - k + h. Glauber: the spin is up with probability
// 1 / (1 + exp(-2 beta h')). Metropolis: where the energy rises, s h' > 0, the spin flips with
// probability exp(-2 beta |h'|), else always. One threshold per class serves both spins, because
// the energy rises for only one of them.
struct DegreeTable {
  std::uint32_t degree = 0;
  std::vector<Threshold> acceptance;  // [degree + 1], by D or u
  std::uint32_t classes = 0;          // D = 0 .. classes - 1 need a draw
  std::vector<std::uint32_t> bit;     // [32][classes]: 0 or ~0
  // In a field [classes]: ~0 if a spin that is up, or down, needs a draw.
  std::vector<std::uint32_t> up_draws, down_draws;

  DegreeTable() = default;
  DegreeTable(std::uint32_t k, const Model& model, double beta, LocalUpdate update) : degree(k) {
    const bool in_field = model.interactions.has_field();
    const double h = GhostBonds::field_of(model);
    for (std::uint32_t u = 0; in_field && u <= k; ++u, ++classes) {
      const double local = 2.0 * u - k + h;
      const bool metropolis = update == LocalUpdate::metropolis;
      acceptance.push_back(
          model.capped_flip_threshold(update, beta, metropolis ? std::fabs(local) : -local));
      up_draws.push_back(!metropolis || local > 0 ? ~0u : 0u);
      down_draws.push_back(!metropolis || local < 0 ? ~0u : 0u);
    }
    for (std::uint32_t d = 0; !in_field && d <= k; ++d) {
      const int sh = static_cast<int>(k) - 2 * static_cast<int>(d);
      if (certain_downhill(update) && sh <= 0) {
        acceptance.push_back(kCertain);
        continue;
      }
      acceptance.push_back(model.capped_flip_threshold(update, beta, sh));
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

// One table per degree that occurs, in ascending order. Degrees without sites have no table, so
// that a hub adds a single one.
struct LocalTables {
  std::vector<DegreeTable> by_degree;
  Stream stream;
  CellRule rule;
  bool heat_bath;  // Glauber

  const DegreeTable& of_degree(std::uint32_t degree) const {
    return *std::lower_bound(
        by_degree.begin(), by_degree.end(), degree,
        [](const DegreeTable& table, std::uint32_t wanted) { return table.degree < wanted; });
  }
};

// The progress of a sweep. All colours before `colour` are complete, and so are rows [0, row) of
// `colour` (without rows: vectors of kGuard words).
struct SweepPosition {
  std::uint32_t colour = 0, row = 0;
  bool operator==(const SweepPosition&) const = default;
};

// Sweeps one word group with a team of threads, from `position` on. Returns true at the end of the
// sweep and resets `position`. Returns false if the team was stopped; `position` then says where
// the sweep continues. Each thread passes its own copy of `position`; the copies are equal.
// `fresh`: [modified_room(layout)] scratch memory shared by the team.
bool local_sweep(const Layout& layout, const LocalTables& tables, const Address& at,
                 const ThreadTeam& team, StopPoll& poll, std::uint32_t* fresh, std::uint32_t* spins,
                 SweepPosition& position);
// Words of scratch memory for the new words of all modified cells, with padding.
std::size_t modified_room(const Layout& layout);

}  // namespace rewise::multispin

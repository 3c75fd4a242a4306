// Thresholds of a local update, laid out for bit-sliced comparison.
//
// For a site of degree k with D disagreeing neighbours, s h = k - 2 D. Metropolis accepts s h <= 0
// without a draw; every other D (all of them under Glauber) is a class, with a threshold of at most
// 2^32 - 1. Its binary digits are kept as words of all zeros or all ones, so that digit n of every
// replica's threshold is the OR over classes of (replicas in the class) & bit[n][class].
// Metropolis: classes D = 0 .. ceil(k/2) - 1; Glauber: D = 0 .. k; in this order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/bundle/rules.hpp"
#include "src/engine/engine.hpp"
#include "src/model/acceptance.hpp"

namespace rewise::bundle {

struct DegreeTable {
  std::uint32_t degree = 0;
  std::vector<Threshold> acceptance;  // [degree + 1], by D
  std::uint32_t classes = 0;          // D = 0 .. classes - 1 need a draw
  std::vector<std::uint32_t> bit;     // [32][classes]: 0 or ~0

  DegreeTable() = default;
  DegreeTable(std::uint32_t k, double beta, LocalUpdate update) : degree(k) {
    for (std::uint32_t d = 0; d <= k; ++d) {
      const int sh = static_cast<int>(k) - 2 * static_cast<int>(d);
      if (update == LocalUpdate::metropolis && sh <= 0) {
        acceptance.push_back(kCertain);
        continue;
      }
      const double probability = rewise::acceptance(ModelKind::ising, update, beta, sh);
      acceptance.push_back(std::min(threshold(probability), kCertain - 1));
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
  Stream stream = Stream::metropolis;

  const DegreeTable& of(std::uint32_t degree) const {
    return *std::lower_bound(
        by_degree.begin(), by_degree.end(), degree,
        [](const DegreeTable& table, std::uint32_t wanted) { return table.degree < wanted; });
  }
};

}  // namespace rewise::bundle

// What `rewise percolate` tells: a table, percolation.json, a CSV file.
#pragma once

#include <string>
#include <vector>

#include "experiments/console/json_output.hpp"
#include "src/label/percolation/percolation.hpp"

namespace rewise {

struct PercolationRun {
  PercolationSpec spec;
  std::vector<PercolationCurves> curves;       // [sizes]
  std::vector<PercolationCrossing> crossings;  // empty with fewer than 4 occupations
  double seconds = 0;

  bool rewired() const { return spec.sizes.front().p > 0; }
};

Json percolation_json(const PercolationRun& run);
std::string percolation_csv(const PercolationRun& run);
std::string percolation_table(const PercolationRun& run);

}  // namespace rewise

// The spin-glass temperature T_SG of one p, from the crossings of the overlaps' curves
// (overlap_crossings.hpp), extrapolated to infinite size (analysis/scaling/extrapolation.hpp).
//
// p > 0: mean field, whose windows are of order N^(-1/3), y = w = 1/3. Crossings of U_q and of
// N^(2/3) [<q^2>] share T_SG. p = 0: the cubic lattice, J = +-1, with
// published exponents (analysis/scaling/regular_lattice.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/scaling/extrapolation.hpp"
#include "src/search/sweep/sweep_analysis.hpp"
#include "src/search/tc/growth_step.hpp"
#include "src/search/tc_value.hpp"

namespace rewise {

struct GlassTc {
  Extrapolation tc;
  std::vector<std::string> reasons;  // why `tc` is rejected; one line each
  bool few_graphs = false;           // more graphs may remove the reasons

  TcStatus status() const { return reasons.empty() ? TcStatus::ok : TcStatus::no_result; }
  std::optional<Value> accepted() const {
    return reasons.empty() ? std::optional(tc.total()) : std::nullopt;
  }
};

// Why T_SG cannot be found by crossings, or "".
std::string why_no_glass_crossings(const StudyConfig& config);

// `sizes` ascend in sites, `crossings` are overlap_crossings() of them.
GlassTc locate_glass(double p, const std::vector<SizeData>& sizes,
                     const std::vector<Crossing>& crossings);

// The graphs to add to each size for config.target_error. As long as there are too few graphs for a
// result, the number of graphs of each size is doubled.
GrowthStep next_glass_step(const StudyConfig& config, const GlassTc& glass,
                           const std::vector<SizeData>& sizes,
                           const std::vector<Crossing>& crossings);

}  // namespace rewise

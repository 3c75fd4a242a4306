// From the graphs of every size and p to Tc(p), its shift and local exponents (DESIGN.md section
// 8). Knows nothing of files; tc_report prints what comes out.
//
// Tc(p): crossings of U and, for p > 0, of sqrt(N) m^2 of consecutive sizes, extrapolated in the
// mean-field form (p > 0) or the regular one (p = 0). Errors: jackknife over graphs, through to the
// end, with control variates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/exponents.hpp"
#include "analysis/extrapolation.hpp"
#include "experiments/size_curves.hpp"
#include "experiments/tc_search.hpp"

namespace rewise {

struct SizeResult {
  SizeCurves simulated, fine;  // fine: U and sqrt(N) m^2 only, reweighted
  HotCold hot_cold;
};

struct PointResult {
  double p = 0;
  std::vector<SizeResult> sizes;
  std::vector<Crossing> crossings;  // of U, then of sqrt(N) m^2
  ScalingExponents exponents;
  Extrapolation tc, binder;     // Tc, and U at the crossing
  std::optional<double> exact;  // Tc where it is known
  std::optional<double> binder_expected;
  std::optional<Value> shift;
  std::vector<std::string> warnings;
};

struct TcResult {
  std::vector<PointResult> points;
  Value tc0;
  std::string tc0_source;  // "measured", "exact", "published", or "" where there is none
  Shifts shift;
  LocalExponents local;
  std::vector<PowerLaw> power_laws;
};

// One point without `simulated` curves, checks of equilibrium and shift: what a target goes by.
PointResult locate_tc(const StudyConfig& config, const PointData& point);

// Whether U at the crossing of the two largest sizes is so far from its mean-field value that these
// sizes are below the crossover: Tc may be off by more than its error then.
bool below_crossover(const PointResult& result);

TcResult analyse_tc(const StudyConfig& config, const std::vector<PointData>& points);

}  // namespace rewise

// Computes Tc(p), its shift and local exponents from the graphs of every size and p
// (analysis/README.md). Does not access files; crossings_report prints the results.
//
// Tc(p) is extrapolated from crossings of U and of N^x m^2 of consecutive sizes (x = 1/2 for p >
// 0). For Ising spins at p > 0, crossings of U with its limit replace those of U. The extrapolation
// has the mean-field form (p > 0) or the regular one (p = 0). Errors: jackknife over graphs of the
// complete computation, with control variates.
//
// A number that fails a check is not a result. The checks detect replicas that depend on their
// start, a crossing outside the window, too few graphs or sizes, U at the crossing far from its
// limit. Such a point keeps its number as a candidate, with reasons; shifts and exponents exclude
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/scaling/collapse.hpp"
#include "analysis/scaling/exponents.hpp"
#include "analysis/scaling/extrapolation.hpp"
#include "src/search/tc/window_data.hpp"
#include "src/search/tc_value.hpp"

namespace rewise {

// The reweighted curves of a size.
struct FineCurves {
  std::vector<double> temperatures;
  std::vector<Value> binder, scaled_m2;
};

struct Reason {
  TcStatus status = TcStatus::ok;
  std::string text;  // one line: the finding, and what to do
};

struct TcPointResult {
  double p = 0;
  std::vector<SizeAverages> averages;  // [size]
  std::vector<FineCurves> fine;        // [size]
  std::vector<Crossing> crossings;     // see crossings_of()
  ScalingExponents exponents;
  Extrapolation tc, binder;          // Tc, and U at the crossing
  std::optional<Collapse> collapse;  // collapse of U of all sizes, with free exponent
  std::string collapse_against;      // why its Tc and exponent are no result, or ""
  double collapse_range = 0;         // largest |T - Tc| N^y of the points used
  std::vector<Reason> reasons;       // why `tc` is no result
  std::optional<double> exact;       // Tc, if known exactly
  std::optional<double> binder_expected;
  std::optional<Value> shift;
  std::vector<std::string> warnings;

  bool accepted() const { return tc.ok && reasons.empty(); }
  std::optional<Value> accepted_tc() const {
    return accepted() ? std::optional(tc.total()) : std::nullopt;
  }
  TcStatus status() const;
  // The rejected number: the extrapolation, or the last crossing of U.
  std::optional<Value> candidate() const;
};

// Tc(p) - Tc(0) of the points with p > 0 and a known Tc.
struct PointShifts {
  Shifts shift;
  LocalExponents local;                        // of at least two points
  std::vector<std::optional<Value>> by_point;  // [point]
};
// `tc`: [p].
PointShifts point_shifts(const std::vector<double>& p, const std::vector<std::optional<Value>>& tc,
                         Value tc0);

struct TcResult {
  std::vector<TcPointResult> points;
  std::optional<Value> measured_tc0;
  Value tc0;
  std::string tc0_source;  // "exact", "published", "measured", or "" if unknown
  Shifts shift;
  LocalExponents local;
  std::vector<PowerLaw> power_laws;
};

// Crossings of U of consecutive sizes, then of N^x m^2, then, for Ising spins at p > 0, of U with
// its limit. Stores the curves in `kept`, [observable][size], if given. `thermal`: uses
// thermal_curve().
std::vector<Crossing> crossings_of(const StudyConfig& config, const WindowPoint& point,
                                   bool thermal = false,
                                   std::vector<std::vector<JackknifeCurve>>* kept = nullptr);

// Evaluates one point, for a target: without `simulated` curves, collapse and shift.
TcPointResult locate_tc(const StudyConfig& config, const WindowPoint& point);

TcResult analyse_tc(const StudyConfig& config, const std::vector<WindowPoint>& points);

}  // namespace rewise

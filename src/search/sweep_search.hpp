// Runs the tasks of `sweep`: every combination of dimension, rule, schedule, p and size, at given
// temperatures or at temperatures found for each size.
//
// Automatic temperatures: a coarse scan of 4 graphs covers the range in which the transition may
// lie; for each next size, it covers the window of the previous one. The window is centred on the
// temperature at which U falls below 0.4 or, for Potts models with q > 2, on the maximum of C.
// "auto" numbers of cycles follow from the largest tau_int of m^2 in a short run. For replica
// exchange over a range of temperatures, the temperatures of each size follow from C, which the
// scan measures (exchange_ladder.hpp). These choices depend only on the configuration and on the
// results of earlier tasks. With a target_error, rounds add graphs and measurements
// (sweep_target.hpp).
//
// `tc` by crossings of overlaps runs the same tasks and adds T_SG to each point (glass_tc.hpp). Its
// target_error refers to T_SG.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/search/glass_tc.hpp"
#include "src/search/overlap_crossings.hpp"
#include "src/search/size_curves.hpp"
#include "src/study/study.hpp"

namespace rewise {

// Progress of one size; `reached` is its largest relative error.
struct SweepTarget : TargetProgress {
  std::string observable;  // that has the largest error
  double temperature = 0;  // at which it has this error
  double thermal = 0;      // fraction of the variance that more measurements reduce
  std::uint32_t graphs_before = 0;
  std::uint64_t measurements_before = 0;
};

// The sizes of one curve, shown in one set of plots.
struct SweepPoint {
  int dim = 0;
  Rule rule = Rule::rewire;
  std::optional<Schedule> schedule;  // nothing: chosen for each size (auto_schedule.hpp)
  double p = 0;
  std::string label;                  // distinguishes points of equal p: "2d-rewire-1-1", or ""
  std::vector<SizeData> sizes;        // ascending in sites
  std::vector<SizeCurves> curves;     // [size]
  std::vector<HotColdTest> hot_cold;  // [size]
  std::vector<Crossing> crossings;    // of overlaps (overlap_crossings.hpp)
  std::optional<GlassTc> glass;       // only of `tc`
  std::vector<SweepTarget> targets;   // [size], or empty
  std::vector<std::string> warnings;  // one line each
};

// The final quantity, to which target_error refers.
enum class SweepGoal { observables, glass_tc };

// Called with the current averages before each round of a target.
using SweepInterim = std::function<void(const std::vector<SweepPoint>&)>;

// Returns the points in the order dimension, rule, schedule, p. On a stop request, calls
// `interrupted` with all sizes that are finished or have two finished graphs, then throws
// Error(interrupted) like Study::run().
std::vector<SweepPoint> search_sweep(Study& study, const StopToken& stop, Progress& progress,
                                     SweepGoal goal, const SweepInterim& interim,
                                     const SweepInterim& interrupted);

// Returns the 13 temperatures of an automatic window. The centre is rounded to 1/16 of the half
// width; the lowest temperature is at least 1/5 of the centre.
std::vector<double> sweep_temperatures(double centre, double half_width);

// Returns the highest temperature at which U, averaged over graphs, falls below 0.4; nothing if
// there is none. Interpolates between the temperatures.
std::optional<double> fall_of_binder(const std::vector<double>& temperatures,
                                     const std::vector<double>& binder);

}  // namespace rewise

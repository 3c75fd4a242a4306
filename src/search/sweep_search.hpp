// Runs the tasks of `sweep`: every combination of dimension, rule, schedule, p and size, at
// temperatures that were given or that each size finds by itself.
//
// Automatic temperatures: a coarse scan (4 graphs) of all that could be the transition, for the
// next size around the window of the one before; the window lies around the temperature at which U
// falls through 0.4. Times that are "auto" follow from the largest tau_int of m^2 of a short run.
// All of it is a function of earlier tasks' numbers and of the configuration alone. Under a
// target_error, rounds add graphs and measurements (sweep_target.hpp).
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "src/search/size_curves.hpp"
#include "src/study/study.hpp"

namespace rewise {

// How far one size has come towards the target.
struct SweepTarget {
  double asked = 0;                                           // relative error
  double reached = std::numeric_limits<double>::quiet_NaN();  // the largest, as of now
  std::string observable;                                     // whose it is
  double temperature = 0;                                     // and where
  double thermal = 0;  // of its square, what more measurements would lower
  int rounds = 0;
  std::string stopped;  // why the target is missed; "": it is reached, or the study goes on
  std::uint32_t graphs_before = 0;
  std::uint64_t measurements_before = 0;
};

// The sizes of one curve: what is drawn in one set of plots.
struct SweepPoint {
  int dim = 0;
  Rule rule = Rule::rewire;
  std::optional<Schedule> schedule;  // nothing: by rule of thumb, size by size
  double p = 0;
  std::string label;                  // "2d-rewire-1-1": what tells it from others of this p, or ""
  std::vector<SizeData> sizes;        // ascending in sites
  std::vector<SizeCurves> curves;     // [size]
  std::vector<HotCold> hot_cold;      // [size]
  std::vector<SweepTarget> targets;   // [size], or none
  std::vector<std::string> warnings;  // one line each
};

// Sees the points before each round of a target.
using SweepInterim = std::function<void(const std::vector<SweepPoint>&)>;

// In the order dimension, rule, schedule, p. Error(interrupted) as Study::run, after `interrupted`
// has seen the sizes that are finished, or have two graphs that are.
std::vector<SweepPoint> search_sweep(Study& study, const StopToken& stop, Progress& progress,
                                     const SweepInterim& interim = {},
                                     const SweepInterim& interrupted = {});

// The temperatures of an automatic window: 13, the middle rounded to a sixteenth of its half width.
std::vector<double> sweep_temperatures(double centre, double half_width);

// Where U, averaged over graphs, falls through 0.4 for the last time; nothing where it does not.
std::optional<double> fall_of_binder(const std::vector<double>& temperatures,
                                     const std::vector<double>& binder);

}  // namespace rewise

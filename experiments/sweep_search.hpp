// Runs the tasks of `sweep`: every combination of dimension, rule, schedule, p and size, at
// temperatures that were given or that each size finds by itself.
//
// Automatic temperatures: a coarse scan (4 graphs) of all that could be the transition, for the
// next size around the window of the one before; the window lies around the temperature at which U
// falls through 0.4. Times that are "auto" follow from the largest tau_int of m^2 of a short run.
// All of it is a function of earlier tasks' numbers and of the configuration alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/size_curves.hpp"
#include "experiments/study.hpp"

namespace rewise {

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
  std::vector<std::string> warnings;  // one line each
};

// In the order dimension, rule, schedule, p. Error(interrupted) as Study::run.
std::vector<SweepPoint> search_sweep(Study& study, const StopToken& stop, Progress& progress);

// The temperatures of an automatic window: 13, the middle rounded to a sixteenth of its half width.
std::vector<double> sweep_temperatures(double centre, double half_width);

// Where U, averaged over graphs, falls through 0.4 for the last time; nothing where it does not.
std::optional<double> fall_of_binder(const std::vector<double>& temperatures,
                                     const std::vector<double>& binder);

}  // namespace rewise

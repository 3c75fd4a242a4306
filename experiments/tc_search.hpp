// Runs the tasks of `tc`: finds each p's temperature window by itself, then fills it with graphs.
//
//   1. Coarse scan of the two smallest sizes over all temperatures at which any rewired lattice
//      could order; where Binder's U of the two crosses is the first estimate.
//   2. Size by size, smallest first: a short run measures tau_int of m^2, from which equilibration
//      and measurements follow; 16 graphs locate the crossing with the size before, and the window
//      moves until the crossing is well inside; the remaining graphs fill the window. The crossing
//      is the centre of the next size's window.
// All p go through these steps together, so every step has work for all threads.
#pragma once

#include <string>
#include <vector>

#include "experiments/size_curves.hpp"
#include "experiments/study.hpp"

namespace rewise {

struct PointData {
  double p = 0;
  std::vector<SizeData> sizes;        // ascending in sites
  std::vector<std::string> warnings;  // one line each
};

// Error(usage), naming the file, with fewer than two sizes or fixed temperatures.
void check_tc_config(const StudyConfig& config, const std::string& file);

// One per p of the configuration. Error(interrupted) as Study::run.
std::vector<PointData> search_tc(Study& study, const StopToken& stop, Progress& progress);

// U (observable 0) or sqrt(N) m^2 (1) of the graphs so far, with its leave-one-out variants.
JackknifeCurve observable_curve(int sample, const SizeSamples& samples, int observable);

}  // namespace rewise

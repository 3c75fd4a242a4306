// Averages of a sweep from its graphs: curves with errors, checks of equilibrium, and crossings of
// overlaps. Does not access files; sweep_report prints the results.
#pragma once

#include <vector>

#include "src/search/sweep/overlap_crossings.hpp"
#include "src/search/sweep/sweep_data.hpp"

namespace rewise {

struct SweepResult : SweepPoint {
  std::vector<SizeAverages> averages;  // [size]
  std::vector<Crossing> crossings;     // of overlaps (overlap_crossings.hpp)
};

SweepResult analyse_point(const StudyConfig& config, SweepPoint point);
std::vector<SweepResult> analyse_sweep(const StudyConfig& config, std::vector<SweepPoint> points);

}  // namespace rewise

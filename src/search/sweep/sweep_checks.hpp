// Checks that temperatures of a size are in equilibrium, for sweeps.
#pragma once

#include <string>
#include <vector>

#include "src/search/study_point.hpp"

namespace rewise {

// Sets the values at temperatures that are not in equilibrium to NaN and lists these temperatures
// in SizeCurves::rejected. Returns a warning of one line for each reason. A temperature is reported
// once, for the first reason: hot and cold starts differ; overlaps drift; overlaps and energy
// contradict each other; replicas are stuck, or series too short. Temperatures that exchange
// replicas with rejected ones come last.
std::vector<std::string> reject_temperatures(const StudyConfig& config, const SizeData& size,
                                             SizeAverages& averages);

}  // namespace rewise

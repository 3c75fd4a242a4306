// Runs the tasks of `tc` by crossings of overlaps: those of a sweep, then rounds of a target_error,
// which refers to T_SG of each p.
#pragma once

#include <vector>

#include "src/search/study_analysis.hpp"
#include "src/search/sweep/sweep_data.hpp"

namespace rewise {

std::vector<SweepPoint> search_glass(Study& study, const StopToken& stop, Progress& progress,
                                     const DataHandlers<std::vector<SweepPoint>>& seen);

}  // namespace rewise

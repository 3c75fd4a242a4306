// Output of `rewise tc` by crossings of overlaps: the summary of a sweep (analysis/SUMMARY.md) with
// T_SG in each point, tc.csv with one row per p, and the tables of T_SG and of the crossings.
#pragma once

#include <vector>

#include "src/search/study_analysis.hpp"
#include "src/search/sweep/sweep_data.hpp"

namespace rewise {

StudyOutcome glass_outcome(const StudyConfig& config, std::vector<SweepPoint> data);

}  // namespace rewise

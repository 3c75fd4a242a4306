// Output of `rewise tc` for Potts models by peaks: summary.json, summary.csv, tc.csv with a row per
// p (analysis/SUMMARY.md), and the printed tables.
#pragma once

#include <vector>

#include "src/search/study_analysis.hpp"
#include "src/search/tc/window_data.hpp"

namespace rewise {

StudyOutcome peaks_outcome(const StudyConfig& config, std::vector<WindowPoint> data);

}  // namespace rewise

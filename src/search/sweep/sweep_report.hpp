// Output of `rewise sweep`: summary.json, summary.csv, summary.h5 (analysis/SUMMARY.md) and the
// printed tables.
#pragma once

#include <string>
#include <vector>

#include "src/search/study_analysis.hpp"
#include "src/search/sweep/sweep_analysis.hpp"

namespace rewise {

StudyOutcome sweep_outcome(const StudyConfig& config, std::vector<SweepPoint> data);

// Parts of it, for `tc` by crossings of overlaps: everything but the text; the table of crossings
// of overlaps ("" if there are none; `glass`: they tend to T_SG); the warnings.
StudyOutcome sweep_files(const StudyConfig& config, const std::vector<SweepResult>& points);
std::string overlap_crossings_text(const std::vector<SweepResult>& points, bool glass);
std::string sweep_warnings(const std::vector<SweepResult>& points);

}  // namespace rewise

// Output of `rewise tc` by crossings of overlaps: the summary of a sweep (analysis/SUMMARY.md) with
// T_SG in each point, tc.csv and the printed table.
#pragma once

#include <string>
#include <vector>

#include "src/results/json_output.hpp"
#include "src/search/sweep_search.hpp"

namespace rewise {

Json glass_summary(const StudyConfig& config, const std::vector<SweepPoint>& points);
// tc.csv: one row per p.
std::string glass_csv(const std::vector<SweepPoint>& points);
// The tables of T_SG and of the crossings. Ends in a newline.
std::string glass_text(const StudyConfig& config, const std::vector<SweepPoint>& points);

}  // namespace rewise

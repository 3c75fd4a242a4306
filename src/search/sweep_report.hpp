// Output of `rewise sweep`: summary.json, summary.csv (analysis/SUMMARY.md) and the printed table.
#pragma once

#include <string>
#include <vector>

#include "src/results/json_output.hpp"
#include "src/search/sweep_search.hpp"

namespace rewise {

Json sweep_summary(const StudyConfig& config, const std::vector<SweepPoint>& points);
std::string sweep_csv(const StudyConfig& config, const std::vector<SweepPoint>& points);

// One row per point, size and temperature; at most `most` rows. Ends in a newline.
std::string sweep_text(const StudyConfig& config, const std::vector<SweepPoint>& points,
                       std::size_t most = 60);
// Parts of it: the table of crossings of overlaps ("" if there are none; `glass`: they tend to
// T_SG), and the warnings.
std::string overlap_crossings_text(const std::vector<SweepPoint>& points, bool glass,
                                   std::size_t most);
std::string sweep_warnings(const std::vector<SweepPoint>& points);

}  // namespace rewise

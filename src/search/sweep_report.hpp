// What `rewise sweep` writes: summary.json, summary.csv (analysis/SUMMARY.md), and the table that
// it prints.
#pragma once

#include <string>
#include <vector>

#include "src/search/sweep_search.hpp"
#include "src/study/json_output.hpp"

namespace rewise {

Json sweep_summary(const StudyConfig& config, const std::vector<SweepPoint>& points);
std::string sweep_csv(const StudyConfig& config, const std::vector<SweepPoint>& points);

// A row per point, size and temperature, the first `most` of them. Ends in a newline.
std::string sweep_text(const StudyConfig& config, const std::vector<SweepPoint>& points,
                       std::size_t most = 60);

}  // namespace rewise

// What `rewise sweep` leaves behind and prints: summary.json, summary.csv (analysis/SUMMARY.md) and
// the table on standard output.
#pragma once

#include <string>
#include <vector>

#include "src/search/sweep_search.hpp"
#include "src/study/json_output.hpp"

namespace rewise {

Json sweep_summary(const StudyConfig& config, const std::vector<SweepPoint>& points,
                   double seconds);
std::string sweep_csv(const StudyConfig& config, const std::vector<SweepPoint>& points);

// A row per point, size and temperature, the first `most` of them. Ends in a newline.
std::string sweep_table(const Json& summary, std::size_t most = 60);

}  // namespace rewise

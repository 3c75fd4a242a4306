// What `rewise tc` leaves behind: summary.json and summary.csv (analysis/SUMMARY.md), and the table
// that it ends with on standard output.
#pragma once

#include <string>

#include "src/search/tc_analysis.hpp"
#include "src/study/json_output.hpp"

namespace rewise {

Json tc_summary(const StudyConfig& config, const std::vector<PointData>& points,
                const TcResult& result, double seconds);
std::string tc_csv(const StudyConfig& config, const std::vector<PointData>& points,
                   const TcResult& result);

// From the summary alone. Ends in a newline; errors are statistical and systematic ones together.
std::string tc_headline(const Json& summary);

}  // namespace rewise

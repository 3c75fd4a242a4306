// What `rewise tc` leaves behind: summary.json and summary.csv (analysis/SUMMARY.md).
#pragma once

#include <string>

#include "experiments/console/json_output.hpp"
#include "experiments/tc/tc_analysis.hpp"

namespace rewise {

Json tc_summary(const StudyConfig& config, const std::vector<PointData>& points,
                const TcResult& result, double seconds);
std::string tc_csv(const StudyConfig& config, const std::vector<PointData>& points,
                   const TcResult& result);

}  // namespace rewise

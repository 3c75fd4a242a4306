// What `rewise tc` writes: summary.json, summary.csv and tc.csv (analysis/SUMMARY.md), and the
// tables that it prints at the end.
#pragma once

#include <string>
#include <vector>

#include "src/search/tc_analysis.hpp"
#include "src/search/tree_report.hpp"

namespace rewise {

struct TcReport {
  const StudyConfig& config;
  const std::vector<PointData>& points;
  const TcResult& crossings;
  const TreeResult* tree = nullptr;  // null: the tree condition was not asked for
};

Json tc_summary(const TcReport& report);
std::string tc_csv(const TcReport& report);         // summary.csv
std::string tc_points_csv(const TcReport& report);  // tc.csv
// Ends in a newline; errors are statistical and systematic ones together.
std::string tc_text(const TcReport& report);

}  // namespace rewise

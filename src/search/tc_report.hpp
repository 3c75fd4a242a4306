// Output of `rewise tc`: summary.json, summary.csv and tc.csv (analysis/SUMMARY.md), and the final
// tables.
#pragma once

#include <string>
#include <vector>

#include "src/search/tc_analysis.hpp"
#include "src/search/tree_report.hpp"

namespace rewise {

struct TcReport {
  const StudyConfig& config;
  const std::vector<TcData>& points;
  const TcResult& crossings;
  const TreeResult* tree = nullptr;  // null: the study does not use the tree condition
};

Json tc_summary(const TcReport& report);
std::string tc_csv(const TcReport& report);         // summary.csv
std::string tc_points_csv(const TcReport& report);  // tc.csv
// Ends in a newline; errors combine statistical and systematic ones.
std::string tc_text(const TcReport& report);

}  // namespace rewise

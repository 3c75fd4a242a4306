// Output of `rewise tc` by crossings, by the tree condition, or by both: summary.json, summary.csv,
// tc.csv, summary.h5 (analysis/SUMMARY.md), and the printed tables.
#pragma once

#include <vector>

#include "src/search/study_analysis.hpp"
#include "src/search/tc/crossings_analysis.hpp"
#include "src/search/tc/tree_report.hpp"

namespace rewise {

struct TcReport {
  const StudyConfig& config;
  const std::vector<WindowPoint>& points;
  const TcResult& crossings;
  const TreeResult* tree = nullptr;  // null: the study does not use the tree condition
};

// `tree`: one element per point, or empty. Errors in the tables combine statistical and systematic
// ones.
StudyOutcome tc_outcome(const TcReport& report, const std::vector<TreePoint>& tree);

}  // namespace rewise

// What `rewise tc` reports of the tree condition, beside the crossings (analysis/SUMMARY.md).
#pragma once

#include <string>
#include <vector>

#include "src/search/tree_search.hpp"
#include "src/study/json_output.hpp"

namespace rewise {

// Adds to the summary of the crossings: "tree" and "comparison" of each point, "best" (of both
// where they agree, of the one that there is, null where they differ), and the shifts, local
// exponents and amplitudes that follow from "best". `refusal`: why there is no tree condition.
void add_tree(const StudyConfig& config, const std::vector<TreePoint>& points,
              const std::string& refusal, Json& summary);

// The tables on standard output, from such a summary; "" without the tree condition.
std::string tree_headline(const Json& summary);

// Columns of tc.csv for one point; they begin with a comma.
std::string tree_csv_header();
std::string tree_csv(const Json& point);

}  // namespace rewise

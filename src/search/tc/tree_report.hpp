// Report of `rewise tc` on the tree condition, beside the crossings (analysis/SUMMARY.md).
#pragma once

#include <string>
#include <vector>

#include "src/results/cells.hpp"
#include "src/search/tc/tree_analysis.hpp"

namespace rewise {

// Why a point has no Tc.
std::vector<std::string> tree_reasons(const TreePoint& point);

// Adds "tree", "comparison" and "best" of each point, and results derived from the best values.
void add_tree(const TreeResult& result, Json& summary);

// Point `k` in the table and in tc.csv.
Cells tree_cells(const TreeResult& result, const TcResult& crossings, std::size_t k);
// The tables on standard output.
std::string tree_text(const StudyConfig& config, const TreeResult& result,
                      const TcResult& crossings);

}  // namespace rewise

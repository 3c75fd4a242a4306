// Report of `rewise tc` on the tree condition, beside the crossings (analysis/SUMMARY.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/results/cells.hpp"
#include "src/search/tc/crossings_analysis.hpp"
#include "src/search/tc/tree_data.hpp"

namespace rewise {

// Tc of one p by the tree condition minus Tc by crossings, if both are known.
struct MethodDifference {
  Value value;
  double z = 0;  // difference in standard errors
  bool agree = false;
};

// The best Tc of one p: the weighted mean of both methods if they agree, the only known value, or
// none.
struct BestTc {
  std::optional<MethodDifference> difference;
  std::optional<Value> tc;
  std::string_view method;  // "both", "tree", "crossings"
  // Shift from p = 0, and the shift divided by p^(1/gamma).
  std::optional<Value> shift, amplitude;
};

struct TreeResult {
  bool alone = false;    // the study has no crossings
  bool orders = false;   // shortcuts have couplings: ferromagnet and spin glass may compete
  std::string why_none;  // why there is no tree condition; "": the other members are valid
  std::vector<TreePoint> points;
  std::vector<BestTc> best;  // [point]
  std::optional<Value> tc0;
  double one_over_gamma = 0;  // exponent of the shift; of a spin glass alone 1/((4 - d - 2 eta) nu)
  Shifts shift;               // of the best values
  LocalExponents local;
};

// `points`: one per point of the crossings.
TreeResult join_methods(const StudyConfig& config, const TcResult& crossings,
                        std::vector<TreePoint> points);

// "ok", "not-found", "does-not-apply", and why.
std::string_view tree_status(const TreePoint& point);
std::vector<std::string> tree_reasons(const TreePoint& point);

// Adds "tree", "comparison" and "best" of each point, and results derived from the best values.
void add_tree(const TreeResult& result, Json& summary);

// Point `k` in the table and in tc.csv.
Cells tree_cells(const TreeResult& result, const TcResult& crossings, std::size_t k);
// The tables on standard output.
std::string tree_text(const StudyConfig& config, const TreeResult& result,
                      const TcResult& crossings);

}  // namespace rewise

// Tc by the tree condition (tree_criterion.hpp) beside that by crossings: whether they agree, the
// best value of each p, and its shift from p = 0. Does not access files; tree_report prints the
// results.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace rewise

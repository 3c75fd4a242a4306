// Tc of one p by the tree condition (tree_search.hpp).
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/scaling/tree_condition.hpp"
#include "src/search/tc_value.hpp"

namespace rewise {

// lambda at a temperature of the pilots or of the last step.
struct TreeLambda {
  double temperature = 0;
  Value lambda;
  std::uint32_t edge = 0;  // of the lattice
};

struct TreePoint {
  double p = 0;
  TreeOrder order = TreeOrder::ferromagnet;
  std::string why_not_applicable;  // why the condition does not apply to this p; "": it does
  TreeForm form = TreeForm::whole;
  // Lattices of the last step; 0 if there was none or its root was outside the window.
  std::uint32_t edge = 0, graphs = 0;
  std::uint64_t equilibrate = 0, measure = 0;
  int rounds = 0;
  TreeRoot root;      // of the last step or, before it, of the pilots
  double length = 0;  // correlation length of the bare lattice, in lattice spacings
  // Standard deviation of Tc due to neglected effects: size, curvature, the form for small p.
  double systematic = 0;
  double requested = 0, reached = 0;  // relative errors of Tc
  std::vector<std::string> reasons;   // why there is no Tc
  std::string stopped;                // why the requested error is missed, or ""
  std::vector<TreeLambda> lambda;     // ascending in temperature
  std::optional<double> exact;        // exact Tc, in one dimension
  // Of Tc: the lowest temperature at which sufficiently large lattices had lambda < 1.
  double upper_bound = std::numeric_limits<double>::infinity();
  std::vector<TreePoint> other;  // the order at the lower temperature, if two orders compete

  TcStatus status() const {
    return accepted()                   ? TcStatus::ok
           : why_not_applicable.empty() ? TcStatus::not_found
                                        : TcStatus::does_not_apply;
  }
  // Roots of pilots do not count, because their lattices are too small.
  bool accepted() const {
    return why_not_applicable.empty() && root.ok && edge > 0 && reasons.empty();
  }
  TwoErrors tc() const { return {root.tc, systematic}; }
  std::optional<Value> accepted_tc() const {
    return accepted() ? std::optional(tc().total()) : std::nullopt;
  }
};

}  // namespace rewise

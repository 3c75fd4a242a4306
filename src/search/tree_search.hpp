// Tc(p) by the tree condition (analysis/README.md): runs tasks on bare lattices and solves
// lambda(T) = 1. There are no crossings and no extrapolation over sizes; the correlation length of
// the bare lattice determines its size. tree_criterion.hpp decides what to run for each p; all p
// proceed together. Tasks are the same on every device, and a repeated run computes only missing
// ones.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/scaling/tree_condition.hpp"
#include "src/study/study.hpp"

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

  // Roots of pilots do not count, because their lattices are too small.
  bool accepted() const {
    return why_not_applicable.empty() && root.ok && edge > 0 && reasons.empty();
  }
  Value total() const;
  std::optional<Value> accepted_tc() const {
    return accepted() ? std::optional(total()) : std::nullopt;
  }
};

// Why the condition does not apply to a study; "" if it does.
std::string why_no_tree(const StudyConfig& config);

// J of the shortcuts in units of the J of the lattice bonds. The antiferromagnet is first mapped to
// the ferromagnet by a gauge transformation. Ignores random J of lattice bonds.
ShortcutCouplings shortcut_couplings(const StudyConfig& config);
// Whether the spins may be unable to satisfy all bonds and fields. False for ferromagnets and for
// models that a gauge transformation maps to one.
bool is_frustrated(const StudyConfig& config);
// Orders that these couplings allow: the ferromagnet if J is positive in the mean, the spin glass
// if some J are negative.
std::vector<TreeOrder> tree_orders(const ShortcutCouplings& couplings);
std::string_view to_string(TreeOrder order);  // "ferromagnet", "spin-glass"

// Default relative error of Tc without a target_error.
inline constexpr double kTreeError = 1e-4;

// Returns one point per p of the configuration: that of the order (ferromagnet or spin glass) with
// the higher transition temperature. On a stop request it calls `interrupted` with the results so
// far and throws Error(interrupted), as Study::run() does.
std::vector<TreePoint> search_tree(Study& study, const StopToken& stop, Progress& progress,
                                   const std::function<void(std::vector<TreePoint>)>& interrupted);

}  // namespace rewise

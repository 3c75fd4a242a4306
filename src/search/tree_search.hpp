// Tc(p) by the tree condition (analysis/README.md): runs tasks on bare lattices and finds where
// lambda(T) = 1. No crossings, no sizes to extrapolate from; the lattice's size follows from the
// correlation length of the bare lattice. tree_criterion.hpp decides what to run for each p; all p
// go through their steps together. The same tasks on every device; running again computes what is
// missing.
#pragma once

#include <functional>
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
  std::string none;  // why the condition does not apply to this p; "": it does
  TreeForm form = TreeForm::whole;
  // Of the lattices of the last step; 0 where there was none, or its root lay beside its window.
  std::uint32_t edge = 0, graphs = 0;
  std::uint64_t equilibrate = 0, measure = 0;
  int rounds = 0;
  TreeRoot root;      // of the last step; before that, of the pilots
  double length = 0;  // correlation length of the bare lattice, in lattice spacings
  // Standard deviation, of Tc, of what is left out: of size, curvature, the form for small p.
  double systematic = 0;
  double asked = 0, reached = 0;     // relative errors
  std::vector<std::string> reasons;  // why there is no Tc
  std::string stopped;               // why the error asked for is missed, or ""
  std::vector<TreeLambda> lambda;    // ascending in temperature
  std::optional<double> exact;       // in one dimension

  // Roots of pilots are none: their lattices are too small.
  bool accepted() const { return none.empty() && root.ok && edge > 0 && reasons.empty(); }
  Value total() const;
  std::optional<Value> accepted_tc() const {
    return accepted() ? std::optional(total()) : std::nullopt;
  }
};

// Whether the condition applies to a study at all: "", or why not.
std::string tree_refusal(const StudyConfig& config);

// Relative error of Tc where no target_error is given.
inline constexpr double kTreeError = 1e-4;

// One per p of the configuration. Error(interrupted) as Study::run; `interrupted` gets what there
// is before.
std::vector<TreePoint> search_tree(
    Study& study, const StopToken& stop, Progress& progress,
    const std::function<void(std::vector<TreePoint>)>& interrupted = {});

}  // namespace rewise

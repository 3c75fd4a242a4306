// Tc(p) by the tree condition (analysis/README.md): runs tasks on bare lattices and solves
// lambda(T) = 1. There are no crossings and no extrapolation over sizes; the correlation length of
// the bare lattice determines its size. tree_criterion.hpp decides what to run for each p; all p
// proceed together. Tasks are the same on every device, and a repeated run computes only missing
// ones.
#pragma once

#include <vector>

#include "src/search/study_analysis.hpp"
#include "src/search/tc/tree_data.hpp"

namespace rewise {

// Returns one point per p of the configuration: that of the order (ferromagnet or spin glass) with
// the higher transition temperature. On a stop request, `seen.interrupted` receives the results so
// far. There are no rounds of a target: `seen.interim` is not called.
std::vector<TreePoint> search_tree(Study& study, const StopToken& stop, Progress& progress,
                                   const DataHandlers<std::vector<TreePoint>>& seen);

}  // namespace rewise

// The coarse scan of `tc`: the two smallest sizes over all temperatures at which any rewired
// lattice could order, a few graphs each; where Binder's U of the two crosses is the first estimate
// of Tc.
#pragma once

#include "experiments/tc_tasks.hpp"

namespace rewise {

// Puts the estimates in the points' centres, and a warning where there was no crossing.
// Error(interrupted) as Study::run.
void run_tc_scan(TcTasks& tasks);

}  // namespace rewise

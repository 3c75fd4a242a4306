// The coarse scan of `tc`: the two smallest sizes over all temperatures at which any rewired
// lattice could order, a few graphs each; where Binder's U of the two crosses is the first estimate
// of Tc.
#pragma once

#include "experiments/tc/tc_tasks.hpp"

namespace rewise {

// Puts the estimates in these points' centres, and a warning where there was no crossing. Under
// equilibrate = "auto" first where Tc is likely, and with Swendsen-Wang where hot and cold starts
// do not agree around the estimate. Error(interrupted) as Study::run.
void run_tc_scan(TcTasks& tasks, const std::vector<std::size_t>& which);

}  // namespace rewise

// The rounds of `sweep` under a target_error: each asks sweep_target for every size at every point
// what to add, and adds it for all of them together, until each has reached the target or cannot.
//
// Every round starts from all graphs that the round before asked for, measured as it asked,
// whatever more the folder may hold: processes that share it, or come back to it, go through the
// same rounds.
#pragma once

#include <functional>

#include "experiments/sweep/sweep_tasks.hpp"

namespace rewise {

// `interim` is called before each round (it may be empty). Error(interrupted) as Study::run.
void run_sweep_rounds(SweepTasks& tasks, const std::function<void()>& interim);

}  // namespace rewise

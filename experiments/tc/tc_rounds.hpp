// The rounds of `tc` under a target_error: each asks tc_target for every p what to add, and adds it
// for all of them together, until each p has reached the target or cannot.
//
// Every round starts from all graphs that the round before asked for, measured as it asked,
// whatever more the folder may hold: processes that share it, or come back to it, go through the
// same rounds.
#pragma once

#include <functional>
#include <vector>

#include "experiments/tc/tc_tasks.hpp"

namespace rewise {

// Simulates size number `size` of these points (numbers in TcTasks::points), which is new to them.
using AddSize = std::function<void(std::size_t size, const std::vector<std::size_t>& points)>;

// `which`: the points that have a Tc to be found. Error(interrupted) as Study::run.
void run_rounds(TcTasks& tasks, const std::vector<std::size_t>& which, const AddSize& add_size,
                const TcInterim& interim);

}  // namespace rewise

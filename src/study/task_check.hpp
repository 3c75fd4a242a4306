// What was read of a task, against itself and against what was asked for. A seal shows damage, not
// intent: whoever can write the folder can forge numbers that fit. What cannot be, is refused all
// the same, so that no file makes a run crash, go on for ever or take another way:
//   temperatures, replicas, extents, p, rule and seed are those of the specification;
//   cycles = discarded + every * measurements (checkpoints: up to one measurement more), steps are
//   those of the cycles;
//   |sum of s_i s_j| <= bonds, |sum of s_i| <= sites; Potts: 0..bonds, 0..(q - 1) sites;
//   cluster sums are there only where there are cluster updates, and no larger than these allow.
// Cost: one pass over the series.
#pragma once

#include "src/study/task.hpp"

namespace rewise {

// Error(data) naming the file and what does not fit.
void check_task(const TaskData& task, const TaskSpec& spec, const std::filesystem::path& file);

// Error(data) where the graph of the file is not the one that its seed gives; the caller names it.
void check_task_graph(const TaskData& task, const Graph& graph);

}  // namespace rewise

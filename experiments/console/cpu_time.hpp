// About what the CPU engines take, from measured figures (RESULTS.md): for decisions that need no
// more than the order of magnitude, such as whether a GPU is worth its start.
#pragma once

#include "experiments/study/config.hpp"
#include "experiments/tasks/task.hpp"

namespace rewise {

// All of a task.
double cpu_seconds(const TaskSpec& spec, int threads);

// All tasks of a study, on that many threads, where its plan is "auto" by a likely one; infinite
// under a target_error.
double cpu_seconds(const StudyConfig& config, int threads);

}  // namespace rewise

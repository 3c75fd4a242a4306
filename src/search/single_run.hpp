// A single task outside of studies, with the checks of its results: `rewise run`, and
// rewise.run() in Python.
#pragma once

#include <string>

#include "src/results/run_check.hpp"
#include "src/study/task.hpp"

namespace rewise {

struct CheckedTask {
  TaskResult task;
  CheckedRun checked;  // empty if the task was interrupted
};

// Runs a task to its end; `job.add_results` is set here. A computed result is stored in its file
// with its checks. `file`: the name of the file, and `names` those of settings, in messages.
// Throws Error(held), with `advice`, if another process holds the task; Error(interrupted) if one
// took it over; and what run_task() throws.
CheckedTask run_checked(TaskJob job, const TaskRunOptions& run, const SettingNames& names,
                        const std::string& file, const std::string& advice = "");

}  // namespace rewise

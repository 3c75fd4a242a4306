// Tasks that run together: each with its own lease, checkpoint and file, exactly those of a run by
// itself; their engines advance in lockstep, so that small systems share a device's launches.
//
// A task of the group that fails (a damaged checkpoint, a full disk) leaves it; the others go on.
#pragma once

#include <vector>

#include "experiments/tasks/task.hpp"

namespace rewise {

struct TaskJob {
  TaskSpec spec;
  std::optional<TaskPaths> paths;                      // without them nothing is read or written
  std::function<void(std::uint64_t cycles)> progress;  // called between steps with the cycles done
  std::function<void(const std::string& line)> note;   // as TaskRun's
  // Results and checkpoints that are damaged beyond use are set aside, and the task begins anew.
  bool recompute_damaged = false;
  // Whether the finished file keeps the state from which more measurements go on. Without it it is
  // smaller, and a task that is asked for more begins anew, with the same numbers.
  bool keep_state = true;
};

// Whether two tasks may run in one group on a CUDA device: graphs of one lattice, and alike in all
// but p, rule, temperatures and seeds.
bool run_together(const TaskSpec& a, const TaskSpec& b);

// How many bundles of `sites` sites keep a CUDA device busy: in sweeps by their words, in Wolff
// updates, which wait for memory more than for anything else, by their replicas.
double filling_bundles(double sites);

// How many tasks like this one fill a CUDA device: 1 where one does.
std::size_t filling_group(const TaskSpec& spec);

// One result per job, in order; a task that failed has its `error`. Jobs that do not all
// run_together are one job. Errors of the device are thrown.
std::vector<TaskResult> run_tasks(std::vector<TaskJob> jobs, const TaskRun& run);

}  // namespace rewise

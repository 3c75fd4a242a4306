// Tasks that run together: each with its own lease, checkpoint and file, exactly those of a run by
// itself; their engines advance in lockstep, so that small systems share a device's launches.
//
// Leases, results read, graphs, files and what is made of results are for host threads
// (host_threads.hpp), many tasks at a time: a group is prepared while the engines of another run,
// and its files are written while those of the next do. An engine waits for none of them.
//
// A task of the group that fails (a damaged checkpoint, a full disk) leaves it; the others go on.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/study/host_threads.hpp"
#include "src/study/task.hpp"

namespace rewise {

struct TaskJob {
  TaskSpec spec;
  std::optional<TaskPaths> paths;                      // without them nothing is read or written
  std::function<void(std::uint64_t cycles)> progress;  // called between steps with the cycles done
  std::function<void(const std::string& line)> note;   // as TaskRun's
  // Results and checkpoints that are damaged beyond use are set aside, and the task begins anew.
  bool recompute_damaged = false;
  FinalState final_state = FinalState::automatic;
  bool awaited = false;  // its files are asked for again soon
  // Where it is complete it rests, with its lease and its engine: more may be asked of it.
  bool may_grow = false;  // needs `ready`
  // Where its graph comes from, and who sees it before it runs.
  std::function<std::shared_ptr<const Graph>(const TaskSpec& spec)> graph_of = task_graph;
  std::function<void(const Graph& graph)> on_graph = {};
  // Takes what a finished task holds, on any thread, perhaps before its state is fetched, its file
  // is written and `done` is called. Throws nothing.
  std::function<void(TaskRecord&& record)> ready = {};
  // Takes the result, on any thread, when the task's files are written and its lease is released;
  // without the data where `ready` had them. Throws nothing.
  std::function<void(TaskResult&& result)> done = {};
};

class TaskGroup {
 public:
  // Claims the tasks, reads what there is of them and builds their graphs. `ahead`, of another
  // group: once it is told to stop it goes no further, and the tasks left are interrupted ones.
  TaskGroup(std::vector<TaskJob> jobs, const TaskRun& run, HostThreads& host, bool ahead = false);
  // Waits for its files. Tasks that did not run are let go; those that rested end.
  ~TaskGroup();

  bool open() const;  // there are tasks to be run
  // Where its engines are to be, before it runs: claims and graphs are the same anywhere.
  void go_to(int device);
  // About how much of a CUDA device's memory they need.
  double device_bytes() const;
  // To their end, or until told to stop; at least one step each time, so that the shortest time
  // limit comes to an end some day. Errors of the device are thrown.
  void run();

  void wait_for_host();  // until results are taken and files written
  bool has_written();    // whether they are

  // Those that rest, by id. The group keeps their engines until they end.
  std::set<std::string> resting() const;
  // These jobs ask more of tasks that rest; the others of these end. Then run() goes on.
  void ask_more(std::vector<TaskJob> jobs);
  // Those that rest end, and their files are written; others are interrupted where they are.
  void end();

  int device() const;         // -1: the CPU
  double host_bytes() const;  // about, of those that are open

 private:
  class Members;
  std::unique_ptr<Members> members_;
};

// Whether two tasks may run in one group on a CUDA device: graphs of one lattice, and alike in all
// but p, rule, temperatures and seeds.
bool run_together(const TaskSpec& a, const TaskSpec& b);

// How many word groups of `sites` sites keep a CUDA device busy: in sweeps by their words, in Wolff
// updates, which wait for memory more than for anything else, by their replicas.
double filling_groups(double sites);

// How many tasks like this one fill a CUDA device, 1 where one does; how few are a group where that
// lets files be written beside the engines from early on: fewer where series are large; and how few
// are worth a group of their own where others would be idle.
struct GroupSize {
  std::size_t most = 1, least = 1, fewest = 1;
};
GroupSize group_size(const TaskSpec& spec);

// All of it on the caller's thread. One result per job, in order; a task that failed has its
// `error`. Jobs that do not all run_together are one job. Errors of the device are thrown.
std::vector<TaskResult> run_tasks(std::vector<TaskJob> jobs, const TaskRun& run);

}  // namespace rewise

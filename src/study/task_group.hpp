// Tasks that run together. Their engines advance in lockstep, so that small systems share kernel
// launches of a device. Each task has its own lease, checkpoint and file, identical to those of a
// separate run.
//
// Host threads (host_threads.hpp) claim tasks, build graphs, write files and pass on results, many
// tasks at a time. Engines wait for none of them.
//
// A task that fails (a damaged checkpoint, a full disk) leaves the group; the others continue.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/engine/batch.hpp"
#include "src/study/claimed_task.hpp"
#include "src/study/host_threads.hpp"

namespace rewise {

class TaskGroup : public std::enable_shared_from_this<TaskGroup> {
 public:
  // Claims the tasks, reads their stored data and builds their graphs. `ahead`: another group is
  // running; after a stop request, the remaining tasks are not claimed but count as interrupted.
  TaskGroup(std::vector<TaskJob> jobs, const TaskRunOptions& run, HostThreads& host,
            bool ahead = false);
  // Waits for its files; their jobs on host threads keep a group owned by a shared_ptr alive.
  // Releases tasks that did not run.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  bool open() const;                                 // some tasks are not finished
  int device() const { return run_.engine.device; }  // -1: the CPU
  // Call before run(): claims and graphs do not depend on the device.
  void set_device(int device) { run_.engine.device = device; }
  double device_bytes() const;  // estimated memory on a CUDA device

  // Runs all tasks to completion or until a stop request. Each call makes at least one step, so
  // that runs with any time limit finish eventually. Throws errors of the device.
  void run();

 private:
  // Tasks that have the same next call, and how often all of them can repeat it.
  struct LockstepTasks {
    std::vector<std::size_t> tasks;
    std::size_t count = std::numeric_limits<std::size_t>::max();
  };

  bool is_at_work(const ClaimedTask& task) const;
  void work();
  bool change_updates();
  void begin(bool warming);
  std::unique_ptr<EngineBatch> make_engines() const;
  void drop_engines();
  void round();
  void advance(const EngineCall& call, LockstepTasks& lockstep);
  template <class F>
  void in_turn(const F& f);
  template <class F>
  bool prepared(const F& f);
  const Schedule& schedule() const;
  void share_time();
  void to_host(double bytes, std::function<void()> job, Urgency urgency);

  std::deque<ClaimedTask> tasks_;
  std::vector<ClaimedTask*> running_;     // [engine]
  std::unique_ptr<EngineBatch> engines_;  // engines of running_
  TaskRunOptions run_;
  HostThreads& host_;
  bool warming_ = false;
  std::uint64_t budget_ = 1;  // cycles per call of the engines
  double last_ = 0;           // time of the last share_time()
  std::mutex mutex_;
  std::condition_variable written_;
  std::size_t writing_ = 0;  // jobs on host threads
};

// Whether two tasks may run in one group on a CUDA device: lattices of one shape, and equal
// settings except p, rule, temperatures and seeds.
bool run_together(const TaskSpec& a, const TaskSpec& b);

// Number of word groups of `sites` sites that keep a CUDA device busy. Sweeps need enough words;
// Wolff updates, which are limited by memory latency, need enough replicas.
double filling_groups(double sites);

// Number of tasks like this one in a group on a CUDA device. `max_tasks`: tasks that fill the
// device (1 if one task does). `min_tasks`: lower bound when few tasks remain; less than
// `max_tasks` only for large series, whose files are then written while engines run.
// `worthwhile_tasks`: tasks that justify a separate group if a lane would otherwise be idle.
struct GroupSize {
  std::size_t max_tasks = 1, min_tasks = 1, worthwhile_tasks = 1;
};
GroupSize group_size(const TaskSpec& spec);

// Runs all jobs on the caller's thread. Returns one result per job, in order, with `error` set for
// failed tasks. All jobs must satisfy run_together(), or there is only one. Throws errors of the
// device.
std::vector<TaskResult> run_tasks(std::vector<TaskJob> jobs, const TaskRunOptions& run);

}  // namespace rewise

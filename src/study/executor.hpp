// Runs the tasks of a study: one queue, one admission control, one pool of workers.
//
// A task passes through these states:
//
//   waiting    in the list of a call of run()
//   claimed    a worker has its lease, has read its stored data and has built its graph
//   running    its engine advances in lockstep with those of its group (task_group.hpp)
//   writing    its result was passed to the caller; its state is fetched and its file written
//   finished   its file is written, its lease released
//
// It may also end early: held (another process has its lease; it waits again), lost (another
// process took its lease over; it waits again, or Study::complete_files() checks it), damaged
// (reported at the end) or interrupted (a checkpoint is written).
//
// All workers are alike. Each takes the first possible action: run a claimed group, or claim and
// build the next group. The next group is therefore prepared while the engines of other groups
// run, and host threads (host_threads.hpp) write the files of the previous one. A worker that
// begins an action starts another worker if none is idle.
//
// Admission (AdmissionControl): a group is claimed if its estimated host memory fits. It runs if a
// CPU thread is free, or if the list has a free lane on a device with enough memory. A group that
// is alone is always admitted.
//
// Locks: one mutex protects queue, budget and bookkeeping. Engines, files and handlers run without
// it. Results do not depend on threads, groups, devices or the order of actions.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "src/study/admission.hpp"
#include "src/study/host_threads.hpp"
#include "src/study/progress.hpp"
#include "src/study/study_folder.hpp"
#include "src/study/task_group.hpp"

namespace rewise {

struct PlannedTask {
  TaskSpec spec;
  std::string label;   // "p = 0.01, 64x64, graph 3"
  double seconds = 0;  // expected on one core; the unit of the progress line
  // "graph" (results depend on it), "pilot" or "scan"; in tasks.json.
  std::string purpose = "graph";
  bool extends = true;  // stores the final state, since more measurements may follow
  std::function<void(const Graph&)> on_graph = {};      // see TaskJob
  std::function<void(const TaskData&)> on_result = {};  // called before the handler
};

// Called once per finished task, in any order, from any thread. The data contain no final state. A
// task that has just been computed has no trajectory hash either.
using TaskHandler = std::function<void(std::size_t index, TaskData&& data)>;

class Executor {
 public:
  // `devices`: CUDA devices, or {-1} for the CPU; `threads`: CPU threads. `folder` must outlive the
  // executor.
  Executor(const StudyFolder& folder, std::vector<int> devices, int threads);
  ~Executor();  // writes all files first

  // Runs all tasks to completion and passes each result to `handle`. Returns the number of tasks
  // that had no result file before. Waits for tasks held by another process. Files may still be in
  // flight on return (see finish_files()); `progress` must live until they are written.
  //
  // Thread-safe: concurrent calls share workers and devices, and an error in one fails all. Throws
  // Error(interrupted) on a stop request, once every running task has written a checkpoint;
  // Error(device) if a single task exceeds the memory; Error(data) listing damaged results.
  std::size_t run(std::vector<PlannedTask> tasks, const StopToken& stop, Progress& progress,
                  const TaskHandler& handle);
  // Stops all workers after the groups in flight and makes run() rethrow this exception.
  void fail(std::exception_ptr what);
  // Waits until the files of all results so far are written and packed. Rethrows the first error.
  void finish_files(Progress& progress);

 private:
  struct List;
  using ListPtr = std::shared_ptr<List>;
  using GroupPtr = std::shared_ptr<TaskGroup>;
  // A group in the queue.
  struct Entry {
    ListPtr list;
    GroupPtr group;
    bool must_run = false;           // first of its list: checks for a stop only after a step
    double host = 0, on_device = 0;  // bytes
  };
  struct Action {
    enum class Kind { none, drop, run, prepare } kind = Kind::none;
    std::list<Entry> entry = {};          // one element: list nodes move between the queues
    std::vector<std::size_t> tasks = {};  // to be prepared
    bool ahead = false;
  };

  template <class F>
  void guarded(const F& f);
  void rethrow() const;
  void admit(List& list, std::unique_lock<std::mutex>& lock);
  void drain(std::unique_lock<std::mutex>& lock);

  void start_worker();
  void work(const std::function<bool()>& over);
  Action next_action();
  bool may_prepare(const List& list);
  int free_device(const Entry& entry);
  void act(Action& action);
  void prepare(Action& action);
  void run_group(Action& action);

  bool look_for_result(List& list, std::size_t index);
  TaskJob job(const ListPtr& list, std::size_t index);
  void close(List& list, std::size_t index, double reported, TaskResult&& result);
  void take_result(List& list, std::size_t index, double reported, TaskData&& data);
  void give_back(List& list, std::size_t index, const std::string& holder);
  void wait_for_holders(List& list);
  void start_packing();
  void archive_files();

  const StudyFolder& folder_;
  const std::vector<int> devices_;
  const bool on_cpu_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr failure_;
  std::atomic<bool> failed_ = false;
  bool ended_ = false, told_memory_ = false;
  AdmissionControl admission_;
  std::list<ListPtr> lists_;  // calls of run() that have not returned
  std::list<Entry> ready_;
  std::multiset<std::string> writing_;             // tasks with a result but no file yet
  std::map<std::string, std::uint64_t> measured_;  // by this process; avoids reading files
  std::size_t idle_ = 0;                           // workers
  std::size_t unpacked_ = 0;                       // task files since the last packing
  bool packing_ = false;
  std::string pack_warning_;
  HostThreads host_;
  std::vector<std::jthread> workers_;  // last member: workers use all others
};

}  // namespace rewise

// Tasks that run together. Their engines advance in lockstep, so that small systems share a
// device's launches. Each task has its own lease, checkpoint and file, exactly those of a run by
// itself.
//
// Host threads (host_threads.hpp) claim tasks, build graphs, write files and pass on results, many
// tasks at a time. An engine waits for none of them.
//
// A task of the group that fails (a damaged checkpoint, a full disk) leaves it; the others go on.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "src/engine/batch.hpp"
#include "src/study/claimed_task.hpp"
#include "src/study/host_threads.hpp"

namespace rewise {

class TaskGroup : public std::enable_shared_from_this<TaskGroup> {
 public:
  // Claims the tasks, reads what is stored of them and builds their graphs. `ahead`, beside another
  // group: after a stop request no more tasks are claimed; the rest are interrupted ones.
  TaskGroup(std::vector<TaskJob> jobs, const TaskRun& run, HostThreads& host, bool ahead = false);
  // Waits for its files, for which jobs of host threads keep a group that is owned by a shared_ptr.
  // Tasks that did not run are released; kept ones end.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  bool open() const;                                 // there are tasks to be run
  int device() const { return run_.engine.device; }  // -1: the CPU
  // Before it runs: claims and graphs do not depend on the device.
  void set_device(int device) { run_.engine.device = device; }
  double device_bytes() const;  // of a CUDA device's memory, estimated

  // Runs all tasks to completion, or until a stop request; at least one step each time, so that the
  // shortest time limit ends some day. Throws errors of the device.
  void run();

  void wait_for_host();  // until results are taken and files written

  std::set<std::string> kept() const;  // ids of complete tasks whose engines stay
  // These jobs request more of kept tasks; the other kept tasks end. Call run() next.
  void continue_with(std::vector<TaskJob> jobs);
  // Kept tasks end, and their files are written; others are interrupted where they are.
  void end();

 private:
  // Tasks that take the same step next, and how often they all can.
  struct Company {
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
  void advance(const Step& step, Company& company);
  template <class F>
  void in_turn(const F& f);
  template <class F>
  bool prepared(const F& f);
  const Schedule& schedule() const;
  std::string text() const;
  void share_time();
  void to_host(double bytes, std::function<void()> job, Urgency urgency);

  std::deque<ClaimedTask> tasks_;
  std::vector<ClaimedTask*> running_;     // by number of their engines
  std::unique_ptr<EngineBatch> engines_;  // of those
  TaskRun run_;
  HostThreads& host_;
  bool warming_ = false;
  bool has_kept_ = false;
  std::uint64_t budget_ = 1;  // cycles per call of the engines
  double last_ = 0;           // when time was last shared out
  std::mutex mutex_;
  std::condition_variable written_;
  std::size_t writing_ = 0;  // jobs of host threads
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

// Runs the tasks of a search (`tc`, `sweep`) and reports progress: coarse scans, schedules, times
// of plans, graphs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "src/search/size_curves.hpp"
#include "src/study/study.hpp"

namespace rewise {

// Measured cost of the tasks of one point, by size: seconds on one core per site and cycle, for all
// replicas of one temperature. Thread-safe.
class TaskSpeed {
 public:
  double of(std::size_t size) const;
  // Returns a PlannedTask::on_result for the tasks of a size. It refers to this object, which must
  // not move while they run.
  std::function<void(const TaskData&)> record(std::size_t size);
  bool measured() const;  // any task was timed

 private:
  void note(std::size_t size, const TaskData& data);
  double known(std::size_t size) const {
    return known_.empty() ? 1e-9 : known_[std::min(size, known_.size() - 1)];
  }
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
  std::vector<double> known_;  // [size]
};

// Returns the task of graph number `graph` of a size under a plan.
using TaskOfGraph = std::function<PlannedTask(std::uint32_t graph, const SizePlan& plan,
                                              const std::string& purpose)>;

// A size at one point whose temperatures are searched.
struct ScanJob {
  SizePlan plan;  // scan_plan()
  TaskOfGraph task;
};

// One size at one point. Its referenced objects must stay in place while tasks run.
struct SizeJob {
  SizeData* size = nullptr;
  double p = 0;
  std::uint32_t graphs = 0;  // total number of graphs
  TaskOfGraph task;
  const TaskSpeed* speed = nullptr;  // of the point
  // Returns the tasks of one graph under the size's plan.
  std::function<std::vector<PlannedTask>(std::uint32_t graph)> tasks_of_graph;
  std::vector<std::string>* warnings = nullptr;        // warnings of the point
  std::vector<TemperatureResult>* of_graph = nullptr;  // output, if the size has only one graph
};

class TaskRunner {
 public:
  TaskRunner(Study& study, const StopToken& stop, Progress& progress)
      : study_(study), stop_(stop), progress_(progress), part_(progress.add_part()) {}

  // See Study::run(). Several threads may call it concurrently.
  void run(const std::vector<PlannedTask>& tasks, const TaskHandler& handle);

  // Sets the schedule in the job's plan and, if open, the cluster update: those of the
  // configuration or, for "auto", the choice stored in the study's folder for this class of tasks
  // (auto_schedule.hpp), with `likely` as the number of cycles. Reports a new choice with its
  // reason as a progress line. Throws Error(interrupted) on a stop request.
  void tune(const SizeJob& job, SizePlan likely);

  // Simulates kScanGraphs graphs of each job. `later`: see find_times().
  std::vector<ScanResult> scan(std::span<const ScanJob> jobs, double later);

  // Determines equilibration, cycles per measurement and number of measurements of each job's plan
  // by pilot runs (equilibrium.hpp). `later`: seconds of the following work.
  void find_times(std::span<const SizeJob> jobs, double later);

  // Measures all graphs of every job according to its plan; returns the expected seconds. With
  // equilibrate = "auto", a size whose hot and cold halves disagree drops measurements and makes
  // more.
  double fill(std::span<const SizeJob> jobs);
  double seconds_to_fill(std::span<const SizeJob> jobs) const;  // on one core
  // Marks the tasks of all graphs of a job so far as abandoned. Call before its plan changes.
  void abandon(const SizeJob& job);

  // Sets the estimate of the remaining time, in seconds on one core. `now`: the work about to
  // start; `later`: all later work. `guessed`: `later` does not come from measurements.
  void expect(double now, double later, bool guessed = true);

  // Adds seconds on one core that no expect() included: graphs of a moved window, repeated
  // measurements.
  void expect_more(double seconds);

  // Reports the start of a round of a target (target_rounds.hpp): `errors` so far, `left` seconds
  // to go.
  void begin_round(const std::string& errors, double left);

  // Whether any task was computed, not only read, since the last call.
  bool computed_some() { return computed_.exchange(0) > 0; }
  const StudyConfig& config() const { return study_.config(); }
  void stage(const std::string& name) { progress_.stage(name, part_); }

 private:
  struct Missing {
    std::uint32_t graph = 0;
    std::vector<PlannedTask> tasks;  // to be run or extended
  };
  std::vector<Missing> missing(const SizeJob& job) const;
  double fill_once(std::span<const SizeJob> jobs);

  Study& study_;
  const StopToken& stop_;
  Progress& progress_;
  const std::size_t part_;          // part of the progress
  std::mutex mutex_;                // protects warnings, seconds, and graphs with several tasks
  double planned_ = 0;              // seconds on one core of all steps with known tasks
  double later_ = 0, guessed_ = 0;  // of all later steps, and the guessed part of it
  int round_ = 0;
  std::atomic<std::size_t> computed_ = 0;
};

// Runs all searches concurrently, the first one on the caller's thread and each other one on a new
// thread. A failure of one ends all. If there are failures as well as interruptions, throws a
// failure.
void side_by_side(Study& study, const std::vector<std::function<void()>>& searches);

// Seconds on one core for all graphs of a job so far.
double seconds_done(const SizeJob& job);
double seconds_of(std::span<const PlannedTask> tasks);

}  // namespace rewise

// Runs the tasks of a search (`tc`, `sweep`) and reports its progress: coarse scans, schedules, the
// times of a size's plan, its graphs.
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

// Seconds on one core per site and cycle of a temperature's replicas, of each size of a point, as
// measured by finished tasks. Thread-safe.
class TaskSpeed {
 public:
  double of(std::size_t size) const;
  void note(std::size_t size, const TaskData& data);
  bool measured() const;  // by any task

 private:
  double known(std::size_t size) const {
    return known_.empty() ? 1e-9 : known_[std::min(size, known_.size() - 1)];
  }
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
  std::vector<double> known_;  // [size]
};

// The task of graph number `graph` of a size under a plan.
using TaskOfGraph =
    std::function<StudyTask(std::uint32_t graph, const SizePlan& plan, const std::string& purpose)>;

// A size at one point whose temperatures are to be found.
struct ScanCell {
  SizePlan plan;  // scan_plan()
  TaskOfGraph task;
};

// One size at one point, of a search that keeps all of it in place while tasks run.
struct SizeCell {
  SizeData* size = nullptr;
  double p = 0;
  std::uint32_t graphs = 0;  // in all
  TaskOfGraph task;
  // Those that one graph's result rests on, under the size's plan.
  std::function<std::vector<StudyTask>(std::uint32_t graph)> tasks_of_graph;
  std::vector<std::string>* warnings = nullptr;        // the point's
  std::vector<TemperatureResult>* of_graph = nullptr;  // out, of a size's only graph
};

class TaskRunner {
 public:
  TaskRunner(Study& study, const StopToken& stop, Progress& progress)
      : study_(study), stop_(stop), progress_(progress), part_(progress.add_part()) {}

  // As Study::run. Several threads may call it at a time. Tasks with a TaskSpeed note their speed
  // in it.
  void run(const std::vector<StudyTask>& tasks, const TaskHandler& handle);

  // Puts the schedule, and the cluster update if it is open, in the cell's plan: the
  // configuration's, or for "auto" the choice stored in the study's folder for tasks of this class
  // (auto_schedule.hpp), for as many cycles as `likely` says. Prints a choice that was tuned just
  // now, with its reason, as a line of the progress. Error(interrupted) on a stop request.
  void tune(const SizeCell& cell, SizePlan likely);

  // Simulates kScanGraphs graphs of each cell. `later`: as find_times.
  std::vector<ScanResult> scan(std::span<const ScanCell> cells, double later);

  // Equilibration, cycles per measurement and measurements of each cell's plan: by pilots from both
  // starts, or where the configuration fixes the equilibration from tau_int of m^2 in a run of
  // `measure` measurements, at the middle temperature or at all of them. `later`: seconds of the
  // work to follow.
  enum class At { middle, all };
  void find_times(std::span<const SizeCell> cells, double later, std::uint64_t measure, At at);

  // Brings every cell to its graphs, each measured as its plan says; gives the seconds that this
  // was expected to take. Under equilibrate = "auto" plans whose halves disagree discard more.
  double fill(std::span<const SizeCell> cells);
  double seconds_to_fill(std::span<const SizeCell> cells) const;  // on one core

  // For the time left, in seconds on one core: work about to be done, and work to follow, which is
  // a guess unless it was derived from measurements.
  void expect(double now, double later, bool guessed = true);

  // Adds seconds on one core that no expect() has counted: graphs of a window that had to move,
  // measurements made anew.
  void expect_more(double seconds);

  // Reports the begin of a round of a target (rounds.hpp): `errors` so far, `left` seconds to it.
  void begin_round(const std::string& errors, double left);

  // Whether any task was computed, not read, since the last call.
  bool computed_some() { return computed_.exchange(0) > 0; }
  const StudyConfig& config() const { return study_.config(); }
  // As Study's.
  void expect_graphs(const std::vector<TaskSpec>& likely) { study_.expect_graphs(likely); }
  void stage(const std::string& name) { progress_.stage(name, part_); }

 private:
  struct Missing {
    std::uint32_t graph = 0;
    std::vector<StudyTask> tasks;  // to be run or to be measured longer
  };
  std::vector<Missing> missing(const SizeCell& cell) const;
  double fill_once(std::span<const SizeCell> cells);

  Study& study_;
  const StopToken& stop_;
  Progress& progress_;
  const std::size_t part_;  // of the progress
  std::mutex mutex_;  // of warnings, seconds, and graphs with several tasks, which may end at once
  double planned_ = 0;              // seconds on one core, of all steps whose tasks are known
  double later_ = 0, guessed_ = 0;  // of all steps after these, and what of it is a guess
  int round_ = 0;
  std::atomic<std::size_t> computed_ = 0;
};

// Runs all searches at the same time, each on its own thread, the first one on the caller's. If one
// fails, all end. Throws a failure in preference to an interruption.
void side_by_side(Study& study, const std::vector<std::function<void()>>& searches);

// Of all graphs of a cell so far, on one core.
double seconds_done(const SizeCell& cell);
double seconds_of(std::span<const StudyTask> tasks);

}  // namespace rewise

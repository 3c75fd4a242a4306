// Runs the tasks of the points of a study (`tc` by crossings or peaks, `sweep`): coarse scans,
// schedules, times of plans, graphs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/search/costs.hpp"
#include "src/search/study_point.hpp"

namespace rewise {

// A coarse scan of a size of a point. The size need not be one of point->sizes.
struct ScanJob {
  StudyPoint* point = nullptr;
  const SizeData* size = nullptr;
  std::size_t index = 0;  // of the size
  SizePlan plan = {};     // scan_plan()
};

// A size of a point that needs graphs. The point must stay in place while tasks run.
struct SizeJob {
  StudyPoint* point = nullptr;
  std::size_t index = 0;     // of the size
  std::uint32_t graphs = 0;  // total number of graphs

  SizeData& size() const { return point->sizes[index]; }
};

// How the tasks of `tc` and `sweep` differ.
struct StudyKind {
  const char* name;  // of tasks for results, from which their seeds derive
  LikelyCounts likely;
  bool extends_scans;  // PlannedTask::extends of scans
};
inline constexpr StudyKind kTcStudy{"tc", kLikelyTc, false},
    kSweepStudy{"sweep", kLikelySweep, true};

class PointTasks : public TaskRunner {
 public:
  PointTasks(Study& study, const StopToken& stop, Progress& progress, const StudyKind& kind)
      : TaskRunner(study, stop, progress), kind_(kind) {}

  // Sets the schedule in the job's plan and, if open, the cluster update: those of the point or,
  // for "auto", the choice stored in the study's folder for this class of tasks
  // (auto_schedule.hpp), with `likely` as the number of cycles. Reports a new choice with its
  // reason as a progress line. Throws Error(interrupted) on a stop request.
  void tune(const SizeJob& job, const SizePlan& likely);

  // Simulates kScanGraphs graphs of each job. `later`: see find_times().
  std::vector<ScanResult> scan(std::span<const ScanJob> jobs, double later);

  // Determines equilibration, cycles per measurement and number of measurements of each job's plan
  // by pilot runs (equilibrium.hpp). `later`: seconds of the following work.
  void find_times(std::span<const SizeJob> jobs, double later);

  // Measures all graphs of every job according to its plan. With equilibrate = "auto", a size whose
  // hot and cold halves disagree drops measurements and makes more.
  void fill(std::span<const SizeJob> jobs);
  // A round of a target (target_rounds.hpp): reports the `errors` so far and fills the jobs.
  // `left`: seconds on one core to the target.
  void fill_round(const std::string& errors, std::span<const SizeJob> jobs, double left);
  // Marks the tasks of all graphs of a job so far as abandoned. Call before its plan changes.
  void abandon(const SizeJob& job);

  // Expected seconds on one core: to fill the jobs; of all graphs of a job; of the graphs that a
  // size of a point has.
  double seconds_to_fill(std::span<const SizeJob> jobs) const;
  double seconds_of(const SizeJob& job) const;
  double seconds_done(StudyPoint& point, std::size_t size) const;
  // Of the initial graphs of these sizes of a point from index `first` on. Assumes the last plan of
  // the point or, before there is one, a likely plan.
  double seconds_from(StudyPoint& point, std::span<const SizeData> sizes, std::size_t first) const;

 private:
  struct Missing {
    std::uint32_t graph = 0;
    std::vector<PlannedTask> tasks;  // to be run or extended
  };
  PlannedTask task_of(StudyPoint& point, const SizeData& size, std::size_t index,
                      std::uint32_t graph, const SizePlan& plan, const std::string& purpose) const;
  PlannedTask task_of(const SizeJob& job, std::uint32_t graph, const SizePlan& plan,
                      const std::string& purpose) const {
    return task_of(*job.point, job.size(), job.index, graph, plan, purpose);
  }
  // Tasks of one graph under the size's plan: one, or more if temperatures were added.
  std::vector<PlannedTask> tasks_of_graph(const SizeJob& job, std::uint32_t graph) const;
  std::vector<Missing> missing(const SizeJob& job) const;
  void fill_once(std::span<const SizeJob> jobs);

  const StudyKind kind_;
  std::mutex mutex_;  // protects warnings, and graphs with several tasks
  int round_ = 0;
};

}  // namespace rewise

// The points of a `tc` study and the tasks that fill them: what each costs, how far all is.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/study/study.hpp"
#include "experiments/tc/tc_search.hpp"

namespace rewise {

// The search for one p.
struct TcPoint {
  PointData data;
  double centre = 0, half_width = 0;           // of the window in work
  bool wide = false;                           // it holds crossings that lie far apart
  std::vector<double> seconds_per_site_cycle;  // [size] of one task, all replicas of a temperature
};

// Graphs of one size at one p.
struct TcCell {
  std::size_t point = 0, size = 0;
  std::uint32_t graphs = 0;  // in all
};

class TcTasks {
 public:
  TcTasks(Study& study, const StopToken& stop, Progress& progress);

  std::vector<TcPoint> points;  // one per p

  StudyTask task_of(const TcPoint& point, std::size_t size, std::uint32_t graph,
                    const SizePlan& plan, const std::string& purpose) const;

  // Brings every cell to its graphs, each measured as its plan says; gives the seconds that this
  // was expected to take. Under equilibrate = "auto" plans whose halves disagree discard more.
  double fill(std::span<const TcCell> cells);
  // As Study::run.
  void run(const std::vector<StudyTask>& tasks, const TaskHandler& handle);

  // From a finished task of the point's size, the speed of those to come.
  void note_speed(TcPoint& point, std::size_t size, const TaskData& data) const;

  // The configuration's schedule and cluster update, or what holds until tuning has said more.
  SizePlan first_plan(const TcPoint& point, std::size_t size);

  // Expected seconds on one core of the graphs that a size begins with, at these points: of one
  // size; and of all from `size` on, under the last plan or, before there is one, a likely one.
  double seconds_of_size(std::size_t size, std::span<const std::size_t> which) const;
  double seconds_from(std::size_t size, std::span<const std::size_t> which) const;

  // For the time left: seconds of work about to be done, on one core, and of what is to follow,
  // which is a guess unless it follows from what was measured.
  void expect(double now, double later, bool guessed = true);

  // The extents of size number `size` of the study, added ones included.
  const std::vector<std::uint32_t>& extents(std::size_t size);
  // Graphs that a size begins with.
  std::uint32_t first_graphs(std::size_t size) const;

  const StudyConfig& config() const { return config_; }
  const Study& study() const { return study_; }
  const StopToken& stop() const { return stop_; }
  Progress& progress() { return progress_; }

 private:
  double fill_once(std::span<const TcCell> cells);
  double speed(const TcPoint& point, std::size_t size) const;

  Study& study_;
  const StudyConfig& config_;
  const StopToken& stop_;
  Progress& progress_;
  std::vector<std::vector<std::uint32_t>> sizes_;
  double planned_ = 0;  // seconds on one core, of all steps whose tasks are known
};

double seconds_of(std::span<const StudyTask> tasks);

// The next size of a series: as much larger again as the last is than the one before it, in even
// extents, and never more than twice.
std::vector<std::uint32_t> next_size(const std::vector<std::vector<std::uint32_t>>& sizes);

}  // namespace rewise

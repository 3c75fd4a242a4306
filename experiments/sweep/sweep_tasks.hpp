// The points of a `sweep` and the tasks that fill them: what each costs, how far all is.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "experiments/study/study.hpp"
#include "experiments/sweep/sweep_search.hpp"

namespace rewise {

// A point while it is worked on.
struct SweepWork {
  SweepPoint point;
  std::vector<std::uint32_t> graphs;                   // [size], those that it begins with
  std::vector<std::vector<TemperatureResult>> single;  // [size], where it has one graph
  Range range;                                         // where the next scan looks
  std::shared_ptr<const Graph> imported;               // an own graph: the point's only size
  double seconds_per_site_cycle = 1e-9;                // of the last task, all replicas
};

// Graphs of one size at one point.
struct SweepCell {
  SweepWork* work = nullptr;
  std::size_t size = 0;
  std::uint32_t graphs = 0;  // in all
};

class SweepTasks {
 public:
  SweepTasks(Study& study, const StopToken& stop, Progress& progress);

  std::vector<SweepWork> works;  // in the order dimension, rule, schedule, p

  StudyTask task_of(const SweepWork& work, std::size_t size, std::uint32_t graph,
                    const SizePlan& plan, const std::string& purpose) const;

  // Those that one graph's result rests on: one, or more where temperatures were added.
  std::vector<StudyTask> graph_tasks(const SweepWork& work, std::size_t size,
                                     std::uint32_t graph) const;

  // Runs tasks that belong to `owners`, one each, and notes how fast they were; as Study::run.
  void run(const std::vector<StudyTask>& tasks, const std::vector<SweepWork*>& owners,
           const TaskHandler& handle);
  // Brings every cell to its graphs, each measured as its plan says. Under equilibrate = "auto"
  // plans whose halves disagree discard more.
  void fill(std::span<const SweepCell> cells);
  // Seconds on one core that this is expected to take.
  double seconds_to_fill(std::span<const SweepCell> cells) const;

  // For the time left: seconds of work about to be done, on one core, and of what is to follow,
  // which is a guess unless it follows from what was measured.
  void expect(double now, double later, bool guessed = true);
  // A guess at the work of sizes after number `size`, which were not begun.
  double seconds_after(std::size_t size) const;

  const StudyConfig& config() const { return config_; }
  const Study& study() const { return study_; }
  const StopToken& stop() const { return stop_; }
  Progress& progress() { return progress_; }

 private:
  void open(int dim, Rule rule, const std::optional<Schedule>& schedule, double p,
            const std::string& label);
  void open_file(const std::filesystem::path& file, const std::optional<Schedule>& schedule,
                 const std::string& label);
  // Those of a cell that are still to be run or to be measured longer, with their graphs' numbers.
  struct Missing {
    std::vector<StudyTask> tasks;
    std::uint32_t graph = 0;
  };
  void fill_once(std::span<const SweepCell> cells);
  std::vector<Missing> missing(const SweepCell& cell) const;

  Study& study_;
  const StudyConfig& config_;
  const StopToken& stop_;
  Progress& progress_;
  std::mutex speed_;
  double planned_ = 0;  // seconds on one core, of all steps begun
};

inline constexpr std::uint64_t kSweepMeasure = 100;  // where "auto"

}  // namespace rewise

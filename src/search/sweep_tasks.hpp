// The points of a `sweep` and the tasks that fill them: what each costs, how far all is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/search/sweep_search.hpp"
#include "src/search/task_runner.hpp"

namespace rewise {

// A point while it is worked on.
struct SweepWork {
  SweepPoint point;
  std::vector<std::uint32_t> graphs;                   // [size], those that it begins with
  std::vector<std::vector<TemperatureResult>> single;  // [size], where it has one graph
  Range range;                                         // where the next scan looks
  std::shared_ptr<const Graph> imported;               // an own graph: the point's only size
  TaskSpeed speed;
};

class SweepTasks : public TaskRunner {
 public:
  SweepTasks(Study& study, const StopToken& stop, Progress& progress);

  std::vector<SweepWork> works;  // in the order dimension, rule, schedule, p

  StudyTask task_of(SweepWork& work, std::size_t size, std::uint32_t graph, const SizePlan& plan,
                    const std::string& purpose) const;

  // That size of that point, with the graphs that it begins with, or so many.
  SizeCell cell(SweepWork& work, std::size_t size);
  SizeCell cell(SweepWork& work, std::size_t size, std::uint32_t graphs);

  // A guess at the work of sizes after number `size`, which were not begun.
  double seconds_after(std::size_t size) const;

 private:
  void open(int dim, Rule rule, const std::optional<Schedule>& schedule, double p,
            const std::string& label);
  void open_graph(const std::shared_ptr<const Graph>& graph, const std::string& name,
                  const std::optional<Schedule>& schedule, const std::string& label);
  // Those that one graph's result rests on: one, or more where temperatures were added.
  std::vector<StudyTask> tasks_of_graph(SweepWork& work, std::size_t size,
                                        std::uint32_t graph) const;
};

inline constexpr std::uint64_t kSweepMeasure = 100;  // where "auto"

}  // namespace rewise

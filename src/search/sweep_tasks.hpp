// The points of a `sweep` and their tasks, costs and progress.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/search/sweep_search.hpp"
#include "src/search/task_runner.hpp"

namespace rewise {

// A point in progress.
struct SweepState {
  SweepPoint point;
  std::vector<std::uint32_t> graphs;                   // [size], initial number
  std::vector<std::vector<TemperatureResult>> single;  // [size], for sizes with one graph
  Range range;                                         // range of the next scan
  std::shared_ptr<const Graph> imported;        // an imported graph: the only size of the point
  LocalUpdate local = LocalUpdate::metropolis;  // on `imported`
  TaskSpeed speed;
};

class SweepTasks : public TaskRunner {
 public:
  SweepTasks(Study& study, const StopToken& stop, Progress& progress);

  std::vector<SweepState> works;  // in the order dimension, rule, schedule, p

  PlannedTask task_of(SweepState& work, std::size_t size, std::uint32_t graph, const SizePlan& plan,
                      const std::string& purpose) const;

  // A size of a point with its initial number of graphs, or `graphs`.
  SizeJob job(SweepState& work, std::size_t size);
  SizeJob job(SweepState& work, std::size_t size, std::uint32_t graphs);

  // Estimated seconds of the graphs of all sizes from index `size` on. None of them may have
  // started.
  double seconds_from(std::size_t size) const;

 private:
  void open(int dim, Rule rule, const std::optional<Schedule>& schedule, double p,
            const std::string& label);
  void open_graph(const std::shared_ptr<const Graph>& graph, const std::string& name,
                  const std::optional<Schedule>& schedule, const std::string& label);
  // The temperatures of the first scan.
  Range range_of(Range automatic) const;
  // Tasks of one graph: one, or more if temperatures were added.
  std::vector<PlannedTask> tasks_of_graph(SweepState& work, std::size_t size,
                                          std::uint32_t graph) const;
};

}  // namespace rewise

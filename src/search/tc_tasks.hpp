// The points of a `tc` study and their tasks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/search/task_runner.hpp"
#include "src/search/window_criterion.hpp"

namespace rewise {

// The search for one p.
struct TcSearchState {
  TcData data;
  std::optional<Schedule> schedule;  // from the configuration; nullopt: "auto"
  std::optional<ClusterUpdate> cluster;
  TcWindow window;  // window of the last size
  TaskSpeed speed;
};

class TcTasks : public TaskRunner {
 public:
  // For the subset `which` of the configuration's p.
  TcTasks(Study& study, const StopToken& stop, Progress& progress,
          std::span<const std::size_t> which);

  std::vector<TcSearchState> points;  // one per p in `which`

  PlannedTask task_of(TcSearchState& point, std::size_t size, std::uint32_t graph,
                      const SizePlan& plan, const std::string& purpose) const;

  // task_of() for a size of a point; the size need not be open.
  TaskOfGraph task_at(std::size_t point, std::size_t size);

  // A size of a point with its initial number of graphs, or `graphs`.
  SizeJob job(std::size_t point, std::size_t size);
  SizeJob job(std::size_t point, std::size_t size, std::uint32_t graphs);
  // The jobs of all these points.
  std::vector<SizeJob> jobs(std::span<const std::size_t> which, std::size_t size,
                            std::uint32_t graphs);

  // A new size of a point: the plan of first_plan(), no samples.
  SizeData new_size(const TcSearchState& point, std::size_t size);

  // A plan with the point's schedule and cluster update, or with provisional ones until tuning.
  SizePlan first_plan(const TcSearchState& point, std::size_t size);
  // With schedule = "auto": chooses the schedule for a likely plan of `measure` measurements.
  void tune(std::size_t point, std::size_t size, std::uint64_t measure);

  // Expected seconds on one core for the initial graphs at these points: of one size; of all sizes
  // from `size` on. Uses the last plan or, before there is one, a likely plan.
  double seconds_of_size(std::size_t size, std::span<const std::size_t> which);
  double seconds_from(std::size_t size, std::span<const std::size_t> which);

  // Extents of size number `size` of the study, including added sizes.
  const std::vector<std::uint32_t>& extents(std::size_t size);
  // Initial number of graphs of a size.
  std::uint32_t first_graphs(std::size_t size) const;

 private:
  std::vector<std::vector<std::uint32_t>> sizes_;
};

// The next size of a series, with even extents: the last ratio of extents, at most 2. Twice the
// last size if the extents would not grow.
std::vector<std::uint32_t> next_size(const std::vector<std::vector<std::uint32_t>>& sizes);

}  // namespace rewise

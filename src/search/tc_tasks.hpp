// The points of a `tc` study and the tasks that fill them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/search/task_runner.hpp"
#include "src/search/window_criterion.hpp"

namespace rewise {

// The search for one p.
struct TcPoint {
  PointData data;
  std::optional<Schedule> schedule;  // the configuration's at this p; nothing: "auto"
  std::optional<ClusterUpdate> cluster;
  TcWindow window;  // of the last size
  TaskSpeed speed;
};

class TcTasks : public TaskRunner {
 public:
  // Of `which` of the configuration's p.
  TcTasks(Study& study, const StopToken& stop, Progress& progress,
          std::span<const std::size_t> which);

  std::vector<TcPoint> points;  // one per p of these

  StudyTask task_of(TcPoint& point, std::size_t size, std::uint32_t graph, const SizePlan& plan,
                    const std::string& purpose) const;

  // task_of() of a size of a point, whether it is open or not.
  TaskOfGraph task_at(std::size_t point, std::size_t size);

  // That size of that point, with graphs as it begins with them, or so many.
  SizeCell cell(std::size_t point, std::size_t size);
  SizeCell cell(std::size_t point, std::size_t size, std::uint32_t graphs);
  // Of each of these points.
  std::vector<SizeCell> cells(std::span<const std::size_t> which, std::size_t size,
                              std::uint32_t graphs);

  // A size of a point that has none of it: what first_plan() says, no samples.
  SizeData new_size(const TcPoint& point, std::size_t size);

  // The point's schedule and cluster update, or what holds until tuning has said more.
  SizePlan first_plan(const TcPoint& point, std::size_t size);

  // Where the search is about to begin with that size of these points: its graphs, what the size
  // before lacks of its own, and the first ones of the size after.
  void expect_size(std::span<const std::size_t> which, std::size_t size);

  // Under schedule = "auto"; a likely plan of so many measurements.
  void tune(std::size_t point, std::size_t size, std::uint64_t measure);

  // Expected seconds on one core of the graphs that a size begins with, at these points: of one
  // size; and of all from `size` on, under the last plan or, before there is one, a likely one.
  double seconds_of_size(std::size_t size, std::span<const std::size_t> which);
  double seconds_from(std::size_t size, std::span<const std::size_t> which);

  // The extents of size number `size` of the study, added ones included.
  const std::vector<std::uint32_t>& extents(std::size_t size);
  // Graphs that a size begins with.
  std::uint32_t first_graphs(std::size_t size) const;

 private:
  std::vector<std::vector<std::uint32_t>> sizes_;
};

// The next size of a series: as much larger again as the last is than the one before it, in even
// extents, and never more than twice.
std::vector<std::uint32_t> next_size(const std::vector<std::vector<std::uint32_t>>& sizes);

}  // namespace rewise

#include "src/search/tc_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/search/costs.hpp"
#include "src/settings/parse.hpp"

namespace rewise {

TcTasks::TcTasks(Study& study, const StopToken& stop, Progress& progress,
                 std::span<const std::size_t> which)
    : TaskRunner(study, stop, progress), sizes_(config().sizes) {
  for (const std::size_t i : which) {
    TcSearchState point;
    point.data.p = config().p[i];
    point.schedule = config().schedule_of(i);
    point.cluster = config().cluster_of(i);
    points.push_back(std::move(point));
  }
}

PlannedTask TcTasks::task_of(TcSearchState& point, std::size_t size, std::uint32_t graph,
                             const SizePlan& plan, const std::string& purpose) const {
  PlannedTask task;
  task.spec = plan_task(config(), point.data.p, sizes_[size], graph, plan,
                        purpose == "graph" ? "tc" : purpose);
  task.purpose = purpose;
  task.extends = purpose != "scan";
  task.label = fmt::format("p = {}, {}, {} {}", number_text(point.data.p),
                           extents_text(sizes_[size]), purpose, graph + 1);
  task.seconds = point.speed.of(size) * site_count(sizes_[size]) *
                 static_cast<double>(plan.temperatures.size() * task.spec.cycles());
  task.on_result = point.speed.record(size);
  return task;
}

SizeData TcTasks::new_size(const TcSearchState& point, std::size_t size) {
  SizeData made;
  made.extents = extents(size);
  made.plan = first_plan(point, size);
  made.samples.sites = site_count(made.extents);
  return made;
}

TaskOfGraph TcTasks::task_at(std::size_t point, std::size_t size) {
  extents(size);
  return [this, &at = points[point], size](std::uint32_t graph, const SizePlan& plan,
                                           const std::string& purpose) {
    return task_of(at, size, graph, plan, purpose);
  };
}

SizeJob TcTasks::job(std::size_t point, std::size_t size) {
  return job(point, size, first_graphs(size));
}

SizeJob TcTasks::job(std::size_t point, std::size_t size, std::uint32_t graphs) {
  TcSearchState& at = points[point];
  SizeJob job;
  job.size = &at.data.sizes[size];
  job.p = at.data.p;
  job.graphs = graphs;
  job.task = task_at(point, size);
  job.speed = &at.speed;
  job.tasks_of_graph = [this, &at, size](std::uint32_t graph) -> std::vector<PlannedTask> {
    return {task_of(at, size, graph, at.data.sizes[size].plan, "graph")};
  };
  job.warnings = &at.data.warnings;
  return job;
}

std::vector<SizeJob> TcTasks::jobs(std::span<const std::size_t> which, std::size_t size,
                                   std::uint32_t graphs) {
  std::vector<SizeJob> all;
  for (const std::size_t i : which) all.push_back(job(i, size, graphs));
  return all;
}

void TcTasks::tune(std::size_t point, std::size_t size, std::uint64_t measure) {
  if (config().schedule) return;
  SizePlan likely = points[point].data.sizes[size].plan;
  likely.equilibrate = 60;
  likely.measure = measure;
  likely.every = 5;
  TaskRunner::tune(job(point, size), likely);
}

const std::vector<std::uint32_t>& TcTasks::extents(std::size_t size) {
  while (sizes_.size() <= size) sizes_.push_back(next_size(sizes_));
  return sizes_[size];
}

std::uint32_t TcTasks::first_graphs(std::size_t size) const {
  const std::uint32_t graphs = config().graphs[std::min(size, config().graphs.size() - 1)];
  return config().target_error ? std::max(graphs, kPilotGraphs) : graphs;
}

SizePlan TcTasks::first_plan(const TcSearchState& point, std::size_t size) {
  return rewise::first_plan(point.schedule, point.cluster, point.data.p, site_count(extents(size)));
}

double TcTasks::seconds_of_size(std::size_t size, std::span<const std::size_t> which) {
  double seconds = 0;
  for (const auto i : which) {
    const SizePlan& plan = points[i].data.sizes[size].plan;
    seconds += task_of(points[i], size, 0, plan, "graph").seconds * first_graphs(size);
  }
  return seconds;
}

double TcTasks::seconds_from(std::size_t size, std::span<const std::size_t> which) {
  double seconds = 0;
  for (const auto i : which) {
    const auto& sizes = points[i].data.sizes;
    const auto known = std::find_if(sizes.rbegin(), sizes.rend(),
                                    [](const SizeData& one) { return one.plan.measure > 0; });
    for (std::size_t other = size; other < config().sizes.size(); ++other) {
      // The estimate does not depend on the schedule, so any p will do for the likely plan.
      const SizePlan plan = known != sizes.rend()
                                ? known->plan
                                : likely_plan(config(), kLikelyTc, 0, site_count(extents(other)));
      seconds += task_of(points[i], other, 0, plan, "graph").seconds * first_graphs(other);
    }
  }
  return seconds;
}

std::vector<std::uint32_t> next_size(const std::vector<std::vector<std::uint32_t>>& sizes) {
  const auto &last = sizes.back(), &before = sizes[sizes.size() - 2];
  std::vector<std::uint32_t> next;
  for (std::size_t d = 0; d < last.size(); ++d) {
    const double ratio = std::clamp(static_cast<double>(last[d]) / before[d], 1.0, 2.0);
    next.push_back(2 * static_cast<std::uint32_t>(std::lround(last[d] * ratio / 2)));
  }
  if (next == last) {
    for (auto& extent : next) extent *= 2;
  }
  return next;
}

}  // namespace rewise

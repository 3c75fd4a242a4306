#include "experiments/tc/tc_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "experiments/console/options.hpp"
#include "experiments/tasks/equilibrium.hpp"
#include "experiments/tasks/task_results.hpp"

namespace rewise {

TcTasks::TcTasks(Study& study, const StopToken& stop, Progress& progress)
    : study_(study),
      config_(study.config()),
      stop_(stop),
      progress_(progress),
      sizes_(config_.sizes) {
  for (const double p : config_.p) {
    TcPoint point;
    point.data.p = p;
    points.push_back(std::move(point));
  }
}

StudyTask TcTasks::task_of(const TcPoint& point, std::size_t size, std::uint32_t graph,
                           const SizePlan& plan, const std::string& purpose) const {
  StudyTask task;
  task.spec = plan_task(config_, point.data.p, sizes_[size], graph, plan, purpose);
  if (purpose != "tc") task.purpose = purpose;
  task.label =
      fmt::format("p = {}, {}, {} {}", number_text(point.data.p), extents_text(sizes_[size]),
                  purpose == "tc" ? "graph" : purpose, graph + 1);
  task.seconds = speed(point, size) * site_count(sizes_[size]) *
                 static_cast<double>(plan.temperatures.size() * task.spec.cycles());
  return task;
}

double TcTasks::speed(const TcPoint& point, std::size_t size) const {
  const auto& known = point.seconds_per_site_cycle;
  return known.empty() ? 1e-9 : known[std::min(size, known.size() - 1)];
}

double TcTasks::fill(std::span<const TcCell> cells) {
  double seconds = fill_once(cells);
  if (config_.equilibrate) return seconds;
  // What the pilots missed: those sizes whose halves disagree go on until they do not.
  while (true) {
    std::vector<TcCell> again;
    for (const TcCell& cell : cells) {
      SizeData& size = points[cell.point].data.sizes[cell.size];
      if (compare_halves(size).agree || !discard_more(size.plan)) continue;
      progress_.line(fmt::format(
          "p = {}, {}: hot and cold starts differ; the measurements so far "
          "are dropped and {} more made",
          number_text(points[cell.point].data.p), extents_text(size.extents), size.plan.measure));
      again.push_back(cell);
    }
    if (again.empty()) return seconds;
    seconds += fill_once(again);
  }
}

double TcTasks::fill_once(std::span<const TcCell> cells) {
  struct Target {
    SizeData* size;
    std::uint32_t graph;
  };
  std::vector<StudyTask> tasks;
  std::vector<Target> targets;
  double seconds = 0;
  for (const TcCell& cell : cells) {
    SizeData& size = points[cell.point].data.sizes[cell.size];
    auto& graphs = size.samples.graphs;
    const std::size_t before = graphs.size();
    graphs.resize(std::max<std::size_t>(before, cell.graphs));
    for (std::uint32_t g = 0; g < graphs.size(); ++g) {
      const std::uint64_t done = graphs[g].discarded + graphs[g].measurements;
      if (g < before && graphs[g].measurements == size.plan.measure &&
          graphs[g].discarded == size.plan.discard) {
        continue;
      }
      tasks.push_back(task_of(points[cell.point], cell.size, g, size.plan, "tc"));
      if (g < before) {  // it goes on where it was
        const auto& spec = tasks.back().spec;
        tasks.back().seconds *= static_cast<double>((spec.measure - done) * spec.every) /
                                static_cast<double>(spec.cycles());
      }
      targets.push_back({&size, g});
      seconds += tasks.back().seconds;
      size.samples.spec = tasks.back().spec.graph;
    }
  }
  run(tasks, [&](std::size_t index, TaskData&& data) {
    const auto& [size, graph] = targets[index];
    keep_first(data, tasks[index].spec.measure);
    const auto& energies = size->samples.energies;
    size->samples.graphs[graph] = reduce(tasks[index].spec, std::move(data), size->samples.grid,
                                         config_.target_error.has_value(), size->plan.discard,
                                         energies ? &*energies : nullptr);
  });
  return seconds;
}

void TcTasks::run(const std::vector<StudyTask>& tasks, const TaskHandler& handle) {
  study_.run(tasks, stop_, progress_, handle);
}

void TcTasks::note_speed(TcPoint& point, std::size_t size, const TaskData& data) const {
  const double cycles =
      configured(data, "sampling.warm_up", 0) + configured(data, "sampling.equilibrate", 0) +
      configured(data, "sampling.measure", 0) * configured(data, "sampling.every", 1);
  const auto seconds = data.provenance.find("work.seconds");
  if (seconds == data.provenance.end()) return;
  point.seconds_per_site_cycle.resize(size + 1, speed(point, size));
  point.seconds_per_site_cycle[size] =
      std::strtod(seconds->second.c_str(), nullptr) /
      (cycles * static_cast<double>(data.graph.sites * data.temperature.size()));
}

void TcTasks::expect(double now, double later, bool guessed) {
  planned_ += now;
  progress_.set_total(planned_ + later, guessed ? later : 0);
}

const std::vector<std::uint32_t>& TcTasks::extents(std::size_t size) {
  while (sizes_.size() <= size) sizes_.push_back(next_size(sizes_));
  return sizes_[size];
}

std::uint32_t TcTasks::first_graphs(std::size_t size) const {
  const std::uint32_t graphs = config_.graphs[std::min(size, config_.graphs.size() - 1)];
  return config_.target_error ? std::max(graphs, kPilotGraphs) : graphs;
}

SizePlan TcTasks::first_plan(const TcPoint& point, std::size_t size) {
  return rewise::first_plan(config_, config_.schedule, point.data.p, site_count(extents(size)));
}

double TcTasks::seconds_of_size(std::size_t size, std::span<const std::size_t> which) const {
  double seconds = 0;
  for (const auto i : which) {
    const SizePlan& plan = points[i].data.sizes[size].plan;
    seconds += task_of(points[i], size, 0, plan, "tc").seconds * first_graphs(size);
  }
  return seconds;
}

double TcTasks::seconds_from(std::size_t size, std::span<const std::size_t> which) const {
  double seconds = 0;
  for (const auto i : which) {
    SizePlan plan;
    plan.temperatures.resize(6);
    plan.equilibrate = 60;
    plan.measure = 20;
    plan.every = 5;
    for (const auto& known : points[i].data.sizes) {
      if (known.plan.measure > 0) plan = known.plan;
    }
    for (std::size_t other = size; other < config_.sizes.size(); ++other) {
      seconds += task_of(points[i], other, 0, plan, "tc").seconds * first_graphs(other);
    }
  }
  return seconds;
}

double seconds_of(std::span<const StudyTask> tasks) {
  double seconds = 0;
  for (const StudyTask& task : tasks) seconds += task.seconds;
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

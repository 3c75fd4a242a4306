#include "src/results/measured_task.hpp"

#include <algorithm>
#include <utility>

namespace rewise {

MeasuredTask::MeasuredTask(const TaskData& task)
    : data(task),
      spec(stored_spec(task)),
      units(spec.model.sample_units(static_cast<double>(task.graph.sites))),
      sites(static_cast<double>(task.graph.sites)),
      every(static_cast<double>(spec.every)),
      discarded(static_cast<double>(spec.discarded_cycles())),
      in_field(spec.model.interactions.has_field() ||
               std::ranges::any_of(task.graph.field, [](double h) { return h != 0; })),
      dependence(spec.schedule.houdayer ? ReplicaDependence::replicas : ReplicaDependence::none),
      pair_dependence(spec.schedule.houdayer ? ReplicaDependence::overlaps
                                             : ReplicaDependence::none) {}

IntSeries series_at(const Series<std::int64_t>& series, std::size_t temperature) {
  IntSeries out;
  series_at(series, temperature, out);
  return out;
}

void series_at(const Series<std::int64_t>& series, std::size_t temperature, IntSeries& out) {
  const std::size_t replicas = series.replicas();
  out.resize(static_cast<Eigen::Index>(series.time()), static_cast<Eigen::Index>(replicas));
  series.values().visit([&](const auto& values) {
    const std::size_t row = series.temperatures() * replicas;
    for (std::size_t t = 0; t < series.time(); ++t) {
      const auto from = values.subspan(t * row + temperature * replicas, replicas);
      std::copy(from.begin(), from.end(), out.data() + t * replicas);
    }
  });
}

void keep_first(TaskData& task, std::uint64_t measurements) {
  task.for_each_series([&](auto& series) { series.truncate(measurements); });
}

namespace {

struct TemperatureIndex {
  std::size_t task = 0, temperature = 0;
};

template <class T>
using SeriesOfTasks = std::vector<const Series<T>*>;

// Joins one column of all tasks at some of their temperatures; empty if any task lacks the column.
template <class T>
Series<T> joined(const SeriesOfTasks<T>& series, const std::vector<TemperatureIndex>& indices) {
  const std::size_t replicas = series.front()->replicas();
  Series<T> all(indices.size(), replicas);
  std::size_t time = series[indices.front().task]->time();
  for (const TemperatureIndex& index : indices) {
    time = std::min(time, series[index.task]->time());
  }
  all.reserve(time);
  std::vector<T> row(indices.size() * replicas);
  for (std::size_t t = 0; t < time; ++t) {
    for (std::size_t k = 0; k < indices.size(); ++k) {
      series[indices[k].task]
          ->measurement(t)
          .subspan(indices[k].temperature * replicas, replicas)
          .copy_to(row.data() + k * replicas);
    }
    all.append(row);
  }
  return all;
}

}  // namespace

TaskData at_temperatures(std::vector<TaskData> tasks, const std::vector<double>& temperatures) {
  std::vector<TemperatureIndex> indices;
  for (const double t : temperatures) {
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      const auto& own = tasks[k].temperature;
      const auto found = std::find(own.begin(), own.end(), t);
      if (found != own.end()) {
        indices.push_back({k, static_cast<std::size_t>(found - own.begin())});
      }
    }
  }
  TaskData all;
  all.configuration = tasks.front().configuration;
  all.graph = std::move(tasks.front().graph);
  all.provenance = tasks.front().provenance;
  all.temperature = temperatures;
  all.replicas = tasks.front().replicas;
  Columns<SeriesOfTasks> columns;
  for (const TaskData& task : tasks) {
    for_each_column([](const ColumnInfo&, auto& list, const auto& one) { list.push_back(&one); },
                    columns, task);
  }
  for_each_column(
      [&](const ColumnInfo&, auto& series, const auto& list) { series = joined(list, indices); },
      all, columns);
  return all;
}

void drop_first(TaskData& task, std::uint64_t measurements) {
  task.for_each_series([&](auto& series) { series.drop(measurements); });
}

}  // namespace rewise

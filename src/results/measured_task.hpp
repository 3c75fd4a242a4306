// A task with its settings, and its integer series as arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/series/autocorrelation.hpp"
#include "analysis/series/coupled.hpp"
#include "analysis/series/moments.hpp"
#include "src/settings/task_spec.hpp"
#include "src/store/task_file.hpp"

namespace rewise {

// The functions of this folder take a MeasuredTask. Its constructor reads the texts of
// TaskData::configuration; nothing else here does. TaskData converts implicitly, so a caller of one
// function need not name the type.
struct MeasuredTask {
  MeasuredTask(const TaskData& task);  // NOLINT: implicit

  const TaskData& data;  // must outlive the MeasuredTask
  TaskSpec spec;         // without its graph
  SampleUnits units;     // normalisation of the sums
  double sites;
  double every;                  // cycles per measurement
  double discarded;              // cycles before the first measurement
  bool in_field;                 // whether any site has a field, so that the sign of m matters
  ReplicaDependence dependence;  // `replicas` with Houdayer moves
  // `dependence` of pairs of replicas in place of replicas.
  ReplicaDependence pair_dependence;
};

// The series of one temperature, [time, replica].
IntSeries series_at(const Series<std::int64_t>& series, std::size_t temperature);
// Writes to an existing array, because the first use of new memory costs as much as the analysis.
void series_at(const Series<std::int64_t>& series, std::size_t temperature, IntSeries& out);

// Keeps the first `measurements`. A finished file may hold more than a plan requests; the results
// must depend on the plan alone.
void keep_first(TaskData& task, std::uint64_t measurements);
// Drops the first measurements, before equilibrium.
void drop_first(TaskData& task, std::uint64_t measurements);
// Joins tasks of one graph into one with the given temperatures. Longer series are truncated to the
// length of the shortest one.
TaskData at_temperatures(std::vector<TaskData> tasks, const std::vector<double>& temperatures);

}  // namespace rewise

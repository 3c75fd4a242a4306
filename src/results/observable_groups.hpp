// The groups of observables of a run: the values that follow from the same sums of a measurement.
// Results, the JSON and HDF5 of a run, its tables, curves and the Python package loop over them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "analysis/series/observables.hpp"
#include "src/results/measured_task.hpp"

namespace rewise {

// A series that has a tau_int: one column per independent member of the sample.
struct TauSeries {
  std::string_view observable;
  RealSeries members;
  bool decides_blocks = true;  // time blocks must be longer than its tau_int
};

struct ObservableGroup {
  std::string_view name;     // key in _core.observable_groups() of Python; "": functions of moments
  std::string_view heading;  // of its table; "": its values are in the main table
  // The observable whose tau_int the table shows, and the head of that column; "": none.
  std::string_view slowest, slowest_head;
  std::vector<ObservableInfo> observables;
  bool (*is_measured)(const MeasuredTask& task);
  std::vector<TauSeries> (*series)(const MeasuredTask& task, std::size_t temperature);
  // [observables], or none. The jackknife leaves out a replica, or one of `parts` blocks of it.
  std::vector<Value> (*values)(const MeasuredTask& task, std::size_t temperature,
                               Eigen::Index parts);
  // The object in the JSON of a run that has the values, whose names begin with it; "": none.
  std::string_view object = "";

  // The key of an observable in the JSON.
  std::string_view key(const ObservableInfo& one) const {
    return object.empty() ? one.name : one.name.substr(object.size() + 1);
  }
};

// In the order of tables.
std::span<const ObservableGroup> observable_groups();

}  // namespace rewise

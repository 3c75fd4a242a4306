// Results of a run: integer series, and the estimates that the program prints, with jackknife
// samples.
#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>

#include "analysis/series/jackknife.hpp"
#include "analysis/series/moments.hpp"
#include "src/base/constants.hpp"
#include "src/python/bindings.hpp"
#include "src/results/observable_groups.hpp"
#include "src/results/run_estimates.hpp"

namespace rewise::python {
namespace {

template <class T>
nb::object series_array(const Series<T>& series) {
  if (series.empty()) return nb::none();
  return array_of(series.by_temperature(),
                  {series.temperatures(), series.time(), series.replicas()});
}

nb::object series_of(const TaskData& task, const std::string& name) {
  nb::object found;
  for_each_column(
      [&](const ColumnInfo& column, const auto& series) {
        if (column.array() == name) found = series_array(series);
      },
      task);
  if (!found.is_valid()) throw nb::key_error(name.c_str());
  return found;
}

// Array name -> description, for the columns of the run.
nb::dict columns_of(const TaskData& task) {
  nb::dict columns;
  for_each_column(
      [&](const ColumnInfo& column, const auto& series) {
        if (column.in != MeasuredIn::all && series.empty()) return;
        columns[std::string(column.array()).c_str()] = std::string(column.help);
      },
      task);
  return columns;
}

// name -> [4][T]: value, error, tau, its error; NaN if there is none. "status" and "reasons" are
// the results of a run's checks (src/results/run_check.hpp), "undetermined_tau" the text of a
// warning or ""; values are returned in all cases.
nb::dict estimates_of(const TaskData& task) {
  CheckedRun run;
  {
    nb::gil_scoped_release released;
    run = checked_run(task, SettingNames::arguments());
  }
  const std::vector<TemperatureResult>& results = run.results;
  const std::size_t count = results.size();
  nb::dict all;
  for (const ObservableGroup& group : observable_groups()) {
    for (const ObservableInfo& one : group.observables) {
      std::vector<double> rows(4 * count, kNaN);
      const auto put = [&](const auto& numbers, std::size_t row, std::size_t k) {
        const auto found = numbers.find(one.name);
        if (found == numbers.end()) return;
        rows[row * count + k] = found->second.value;
        rows[(row + 1) * count + k] = found->second.error;
      };
      for (std::size_t k = 0; k < count; ++k) {
        put(results[k].values, 0, k);
        put(results[k].tau, 2, k);
      }
      all[std::string(one.name).c_str()] = array_of(std::move(rows), {4, count});
    }
  }
  std::vector<double> z;
  std::vector<std::uint64_t> block_length;
  nb::list status, reasons;
  for (std::size_t k = 0; k < count; ++k) {
    z.push_back(run.checks[k].halves.worst_z);
    block_length.push_back(results[k].block_length);
    status.append(std::string(to_string(run.checks[k].status)));
    nb::list lines;
    for (const RunReason& reason : run.checks[k].reasons) lines.append(reason.text());
    reasons.append(std::move(lines));
  }
  all["status"] = std::move(status);
  all["reasons"] = std::move(reasons);
  all["hot_cold_z"] = array_of(std::move(z));
  all["block_length"] = array_of(std::move(block_length));
  all["undetermined_tau"] = undetermined_tau(run);
  return all;
}

// Jackknife values [members][observables()]: each row leaves out one replica (or Houdayer pair, or
// block of time), as for the errors of estimates_of().
nb::object left_out_of(const TaskData& task, std::size_t temperature, std::uint64_t block_length) {
  if (temperature >= task.temperature.size()) throw nb::index_error("temperature");
  const auto all_of_them = observables();
  std::vector<double> values;
  std::size_t members = 0;
  {
    nb::gil_scoped_release released;
    const MeasuredTask measured(task);
    const auto bond_sums = series_at(task.bond_sum, temperature);
    const auto magnetisations = series_at(task.magnetisation, temperature);
    const Eigen::Index parts =
        block_length == 0 ? 1 : bond_sums.rows() / static_cast<Eigen::Index>(block_length);
    const auto rows =
        block_moments(bond_sums, magnetisations, measured.units, parts, measured.dependence);
    const auto numbers = jackknife_means(0, rows, [&](const Eigen::VectorXd& mean) {
      const Moments m = with_squares(mean.array());
      Eigen::VectorXd all(static_cast<Eigen::Index>(all_of_them.size()));
      Eigen::Index k = 0;
      for (const Observable& o : all_of_them) {
        all[k++] = o.value(m, measured.sites, task.temperature[temperature]);
      }
      return all;
    });
    members = static_cast<std::size_t>(rows.rows());
    values.reserve(members * all_of_them.size());
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      for (const Jackknifed& number : numbers) values.push_back(number.left_out.at(0)[i]);
    }
  }
  return array_of(std::move(values), {members, all_of_them.size()});
}

// The statistics of replica exchange as `rewise run --json` has them; None without it.
nb::object exchange_of(const TaskData& task) {
  const auto exchange = exchange_result(task);
  if (!exchange) return nb::none();
  nb::dict found;
  found["accepted"] = array_of(exchange->accepted);
  found["round_trips"] = exchange->round_trips;
  found["trips_per_1000_cycles"] = exchange->trips_per_1000;
  return found;
}

// Per observable: (name, symbol, label of an axis, true if only a comparison of sizes uses it).
nb::list list_of(const ObservableGroup& group) {
  nb::list all;
  for (const ObservableInfo& o : group.observables) {
    all.append(nb::make_tuple(std::string(o.name), std::string(o.symbol), std::string(o.label),
                              o.compares_sizes));
  }
  return all;
}

// Warns if the file is the previous version.
std::pair<TaskData, Notes> loaded(const std::string& path) {
  nb::gil_scoped_release released;
  auto found = load_task(path, OpenAs::reader, LoadParts::skip);
  if (!found) throw Error(ExitCode::io, fmt::format("'{}' does not exist", path));
  found->task.results = {};  // discarded: this version computes them again
  for (std::string& line : found->warnings) line.insert(0, "warning: ");
  return {std::move(found->task), std::move(found->warnings)};
}

}  // namespace

void bind_results(nb::module_& module) {
  // Name of a group -> (the observable whose tau its table shows, or "", list_of()).
  module.def("observable_groups", [] {
    nb::dict all;
    for (const ObservableGroup& group : observable_groups()) {
      all[std::string(group.name).c_str()] =
          nb::make_tuple(std::string(group.slowest), list_of(group));
    }
    return all;
  });
  nb::class_<TaskData>(module, "Data")
      .def_static("load", &loaded)
      .def_prop_ro("temperature", [](const TaskData& task) { return array_of(task.temperature); })
      .def_prop_ro("replicas", [](const TaskData& task) { return task.replicas; })
      .def_prop_ro("sites", [](const TaskData& task) { return task.graph.sites; })
      .def_prop_ro("bonds", [](const TaskData& task) { return task.graph.bonds; })
      .def_prop_ro("energy_unit",
                   [](const TaskData& task) { return MeasuredTask(task).units.energy; })
      .def_prop_ro("extents", [](const TaskData& task) { return task.graph.extents; })
      .def_prop_ro("shows_overlaps",
                   [](const TaskData& task) {
                     return MeasuredTask(task).spec.model.interactions.has_negative_or_random();
                   })
      .def_prop_ro("configuration", [](const TaskData& task) { return task.configuration; })
      .def_prop_ro("provenance", [](const TaskData& task) { return task.provenance; })
      .def_prop_ro("times", [](const TaskData& task) { return task.bond_sum.time(); })
      .def_prop_ro("cycles", [](const TaskData& task) { return task.state.cycles; })
      .def("warnings",
           [](const TaskData& task) {
             nb::gil_scoped_release released;
             return notes_of(checked_run(task, SettingNames::arguments()));
           })
      .def("series", &series_of)
      .def_prop_ro("columns", &columns_of)
      .def("estimates", &estimates_of)
      .def("left_out", &left_out_of)
      .def("exchange", &exchange_of)
      .def("save", [](TaskData& task, const std::string& path) {
        check_task_path(path);
        if (task.results.columns.empty() && task.bond_sum.time() > 0) {
          ResultRecord results;
          {
            nb::gil_scoped_release released;
            results = result_record(task, checked_run(task));
          }
          // Assigned once and with the GIL held, since another thread may be saving the same task.
          if (task.results.columns.empty()) task.results = std::move(results);
        }
        nb::gil_scoped_release released;
        save_new_task(path, task);
      });
}

}  // namespace rewise::python

#include "src/results/run_estimates.hpp"

#include <fmt/format.h>

#include <cmath>

#include "src/results/symbols.hpp"

namespace rewise {

Json estimates_json(const TemperatureResult& r) {
  Json row;
  const auto add = [&](std::string_view name, Value value) {
    Json& json_of = row[std::string(name)] = value_json(value);
    if (const auto tau = r.tau.find(name); tau != r.tau.end()) {
      json_of["tau"] = std::isfinite(tau->second.error) ? Json(tau->second.value) : Json(nullptr);
    }
  };
  for (std::size_t k = 0; k < observables().size(); ++k) {
    if (!observables()[k].compares_sizes) add(observables()[k].name, r.observables[k]);
  }
  row["cluster_fraction"] = value_json(r.cluster_fraction);
  if (std::isfinite(r.clusters.m4.value)) {
    row["improved"] = {{"m2", value_json(r.clusters.m2)},
                       {"m4", value_json(r.clusters.m4)},
                       {"binder", value_json(r.clusters.binder)}};
  }
  for (std::size_t k = 0; k < r.overlaps.size(); ++k) {
    add(overlap_observables()[k].name, r.overlaps[k]);
  }
  for (std::size_t k = 0; k < r.staggered.size(); ++k) {
    add(staggered_observables()[k].name, r.staggered[k]);
  }
  for (std::size_t k = 0; k < r.in_field.size(); ++k) {
    add(field_observables()[k].name, r.in_field[k]);
  }
  return row;
}

Json without_numbers(Json json) {
  for (auto& value : json) value = value.is_object() ? without_numbers(value) : Json(nullptr);
  return json;
}

ResultRecord result_record(const TaskData& task, const CheckedRun& run) {
  ResultRecord record;
  record.energy_unit = units_of(task).energy;
  const auto put = [&](std::string name, const std::string& unit_of, const Json& from) {
    ResultColumn& column = record.columns[std::move(name)];
    for (const Symbol& symbol : symbols()) {
      if (is_called(symbol, unit_of)) column.unit = symbol.unit;
    }
    const auto add = [&from](std::vector<double>& values, const char* what) {
      values.push_back(from[what].is_null() ? std::nan("") : from[what].get<double>());
    };
    add(column.value, "value");
    add(column.error, "error");
    if (from.contains("tau")) add(column.tau, "tau");
  };
  for (std::size_t k = 0; k < run.results.size(); ++k) {
    if (k > 0) record.status += ',';
    record.status += to_string(run.checks[k].status);
    Json estimates = estimates_json(run.results[k]);
    if (!run.checks[k].ok()) estimates = without_numbers(estimates);
    for (const auto& [name, value] : estimates.items()) {
      if (value.contains("value")) {
        put(name, name, value);
        continue;
      }
      for (const auto& [moment, of_moment] : value.items()) {
        put(fmt::format("{}_{}", name, moment), moment, of_moment);
      }
    }
  }
  return record;
}

}  // namespace rewise

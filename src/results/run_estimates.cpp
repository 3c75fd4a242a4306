#include "src/results/run_estimates.hpp"

#include <cmath>

#include "src/base/constants.hpp"
#include "src/results/observable_groups.hpp"
#include "src/results/symbols.hpp"

namespace rewise {

Json estimates_json(const TemperatureResult& r) {
  Json row;
  for (const ObservableGroup& group : observable_groups()) {
    for (const ObservableInfo& one : group.observables) {
      const auto value = r.values.find(one.name);
      if (one.compares_sizes || value == r.values.end()) continue;
      Json& json = group.object.empty() ? row : row[std::string(group.object)];
      Json& estimate = json[std::string(group.key(one))] = value_json(value->second);
      if (const auto tau = r.tau.find(one.name); tau != r.tau.end()) {
        estimate["tau"] =
            std::isfinite(tau->second.error) ? Json(tau->second.value) : Json(nullptr);
      }
    }
  }
  return row;
}

Json without_numbers(Json json) {
  for (auto& value : json) value = value.is_object() ? without_numbers(value) : Json(nullptr);
  return json;
}

ResultRecord result_record(const MeasuredTask& task, const CheckedRun& run) {
  ResultRecord record;
  record.energy_unit = task.units.energy;
  for (std::size_t k = 0; k < run.results.size(); ++k) {
    if (k > 0) record.status += ',';
    record.status += to_string(run.checks[k].status);
    const TemperatureResult& result = run.results[k];
    const auto shown = [&](double x) { return run.checks[k].ok() ? x : kNaN; };
    for (const ObservableGroup& group : observable_groups()) {
      for (const ObservableInfo& one : group.observables) {
        const auto value = result.values.find(one.name);
        if (one.compares_sizes || value == result.values.end()) continue;
        ResultColumn& column = record.columns[std::string(one.name)];
        for (const Symbol& symbol : symbols()) {
          if (is_called(symbol, group.key(one))) column.unit = symbol.unit;
        }
        column.value.resize(run.results.size(), kNaN);
        column.error.resize(run.results.size(), kNaN);
        column.value[k] = shown(value->second.value);
        column.error[k] = shown(value->second.error);
        if (const auto tau = result.tau.find(one.name); tau != result.tau.end()) {
          // A lower bound has no error.
          const bool known = std::isfinite(tau->second.error);
          column.tau.resize(run.results.size(), kNaN);
          column.tau[k] = shown(known ? tau->second.value : kNaN);
        }
      }
    }
  }
  return record;
}

}  // namespace rewise

#include "experiments/commands/run_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "src/base/count_text.hpp"
#include "src/base/table.hpp"
#include "src/engine/registry.hpp"
#include "src/results/observable_groups.hpp"
#include "src/results/run_estimates.hpp"
#include "src/search/summary_parts.hpp"
#include "src/settings/parse.hpp"
#include "src/settings/task_spec.hpp"

namespace rewise {
namespace {

double updates_per_ns(const TaskData& task) {
  const double seconds = number_at(task.provenance, "work.update_seconds");
  return seconds > 0 ? number_at(task.provenance, "work.updates") / seconds * 1e-9 : 0;
}

// Seconds of the steps of cluster updates that label clusters; null without such updates.
Json steps_json(const TaskData& task) {
  Json json;
  double sum = 0;
  for (const char* step : {"activate", "label", "merge", "flip"}) {
    const double seconds = number_at(task.provenance, fmt::format("work.{}_seconds", step));
    json[step] = seconds;
    sum += seconds;
  }
  return sum > 0 ? json : Json(nullptr);
}

// A lower bound has no error. It is shown even if a check rejects the values.
std::string shown_tau(Value v, const RunCheck& check) {
  if (!std::isfinite(v.value) || (!check.ok() && std::isfinite(v.error))) return "-";
  return std::isfinite(v.error) ? format_value(v) : "> " + two_digits(v.value);
}

// The value, or "-" if a check rejects it.
std::string shown(Value v, const RunCheck& check) { return check.ok() ? printed(v) : "-"; }

// The updates of a cycle: "1 Metropolis sweep and 4 Wolff updates".
std::string cycle_text(const TaskSpec& spec) {
  const Schedule& schedule = spec.schedule;
  std::vector<std::string> parts;
  if (schedule.local > 0) {
    const char* name = spec.local == LocalUpdate::metropolis ? "Metropolis"
                       : spec.model.is_potts()               ? "heat-bath"
                                                             : "Glauber";
    parts.push_back(count_text(schedule.local, fmt::format("{} sweep", name)));
  }
  if (schedule.cluster > 0) {
    const char* name = spec.cluster == ClusterUpdate::wolff           ? "Wolff"
                       : spec.cluster == ClusterUpdate::swendsen_wang ? "Swendsen-Wang"
                                                                      : "few-cluster";
    parts.push_back(count_text(schedule.cluster, fmt::format("{} update", name)));
    if (spec.cluster == ClusterUpdate::few_cluster) {
      const auto [tile, flip] = spec.few_cluster;
      parts.back() +=
          fmt::format(" (tiles {}, flip {})", tile == 0 ? "auto" : fmt::format("of edge {}", tile),
                      number_text(flip));
    }
  }
  if (schedule.houdayer) parts.emplace_back("1 Houdayer move");
  if (schedule.exchange) parts.emplace_back("replica exchange");
  return fmt::format("{} per cycle", fmt::join(parts, " and "));
}

// A row per temperature with the values of the observables that have a symbol.
std::vector<std::vector<std::string>> observable_rows(const CheckedRun& run,
                                                      const ObservableGroup& group) {
  std::vector<std::vector<std::string>> rows{{"T"}};
  for (const ObservableInfo& o : group.observables) {
    if (!o.symbol.empty()) rows.front().emplace_back(o.symbol);
  }
  for (std::size_t t = 0; t < run.results.size(); ++t) {
    const TemperatureResult& result = run.results[t];
    auto& row = rows.emplace_back(1, fmt::format("{}", result.temperature));
    for (const ObservableInfo& o : group.observables) {
      // Sums over clusters may fit in 64 bits at some temperatures only.
      if (!o.symbol.empty()) row.push_back(shown(result.estimate(o.name), run.checks[t]));
    }
  }
  return rows;
}

// The table of a group of observables; empty if the run does not measure them.
std::string group_table(const CheckedRun& run, const ObservableGroup& group, std::uint32_t q) {
  const std::string_view first = group.observables.front().name;
  const auto has_it = [&](const TemperatureResult& r) { return r.values.contains(first); };
  if (group.heading.empty() || std::ranges::none_of(run.results, has_it)) return "";
  auto rows = observable_rows(run, group);
  if (!group.slowest.empty()) rows.front().emplace_back(group.slowest_head);
  for (std::size_t t = 0; t < run.results.size() && !group.slowest.empty(); ++t) {
    rows[t + 1].push_back(shown_tau(run.results[t].tau.at(group.slowest), run.checks[t]));
  }
  std::string out = fmt::format("\n{}:\n\n{}", group.heading, aligned_table(rows));
  if (q > 2 && group.object == "improved") {
    out +=
        "\nHere m is a vector, m^2 = (q sum_a (N_a/N)^2 - 1)/(q - 1) with N_a sites in state a.\n";
  }
  return out;
}

std::string exchange_text(const TaskData& task) {
  const auto exchange = exchange_result(task);
  if (!exchange) return "";
  std::vector<std::vector<std::string>> rows{{"T", "next T", "accepted"}};
  for (std::size_t t = 0; t < exchange->accepted.size(); ++t) {
    rows.push_back({fmt::format("{}", task.temperature[t]),
                    fmt::format("{}", task.temperature[t + 1]),
                    fmt::format("{:.3f}", exchange->accepted[t])});
  }
  return "\nReplica exchange, fraction of accepted attempts:\n\n" + aligned_table(rows) +
         fmt::format(
             "\n{} round trips between the first and the last temperature, {:.2g} per "
             "replica and 1000 cycles.\n",
             exchange->round_trips, exchange->trips_per_1000);
}

// The reasons why temperatures have no values, the checks that passed if all values are accepted,
// and the warnings. Begins with an empty line; "" if there is nothing to print.
std::string checks_text(const CheckedRun& run, const std::vector<std::string>& warnings) {
  std::string out;
  for (std::size_t t = 0; t < run.results.size(); ++t) {
    for (const RunReason& why : run.checks[t].reasons) {
      const std::string text = why.text();
      std::string_view reason = text;
      // The status, which the line contains, has the same meaning.
      if (reason.starts_with(kNotInEquilibrium)) reason.remove_prefix(kNotInEquilibrium.size());
      out += fmt::format("T = {}: no values ({}): {}\n", run.results[t].temperature,
                         to_string(run.checks[t].status), reason);
    }
  }
  if (const std::string few = undetermined_tau(run); !few.empty()) {
    out += fmt::format("{}.\n", few);
  } else if (const auto passed = passed_checks(run); !passed.empty()) {
    out += fmt::format("All checks passed: {}.\n", fmt::join(passed, ", "));
  }
  for (const std::string& line : warnings) out += fmt::format("warning: {}\n", line);
  return out.empty() ? out : "\n" + out;
}

// The network, the model, the engine, and the cycles.
std::string run_title(const TaskData& task, const TaskSpec& spec) {
  std::string out = fmt::format("{}\n{} sites, {} bonds", graph_title(task.graph), task.graph.sites,
                                task.graph.bonds);
  if (!task.graph.extents.empty()) {
    out +=
        fmt::format(" ({} rewired), {} modified cells", task.graph.rewired(), task.graph.modified);
  }
  out += "\n";
  if (!spec.model.is_ferromagnet()) {
    out += fmt::format("model: {}\n", to_string(spec.model));
  } else if (spec.model.is_potts()) {
    out += fmt::format("Potts model with {} states\n", spec.model.q);
  }
  const std::string threads = text_at(task.provenance, "threads");
  out += fmt::format("{} engine, {} with {}; {}, seed {}\n{}\n", to_string(spec.engine),
                     text_at(task.provenance, "device"),
                     threads == "1" ? "1 thread" : threads + " threads",
                     count_text(task.replicas, "replica"), spec.seed, cycle_text(spec));
  out += fmt::format("{} cycles to equilibrate, then {}, one every {}\n\n", spec.equilibrate,
                     count_text(task.bond_sum.time(), "measurement"),
                     spec.every == 1 ? "cycle" : fmt::format("{} cycles", spec.every));
  return out;
}

}  // namespace

Json run_json(const TaskData& task, const CheckedRun& run,
              const std::vector<std::string>& warnings) {
  Json json;
  json["graph"] = graph_json(task.graph);
  json["results"] = Json::array();
  for (std::size_t k = 0; k < run.results.size(); ++k) {
    const TemperatureResult& r = run.results[k];
    const RunCheck& check = run.checks[k];
    Json row;
    row["temperature"] = r.temperature;
    row["beta"] = 1 / r.temperature;
    row["replicas"] = r.replicas;
    row["measurements"] = r.measurements;
    row["status"] = to_string(check.status);
    row["reasons"] = Json::array();
    for (const RunReason& reason : check.reasons) row["reasons"].push_back(reason.text());
    const Json estimates = estimates_json(r);
    row.update(check.ok() ? estimates : without_numbers(estimates));
    row["candidate"] = check.ok() ? Json(nullptr) : estimates;
    json["results"].push_back(std::move(row));
  }
  if (const auto exchange = exchange_result(task)) {
    Json accepted = Json::array();
    for (const double share : exchange->accepted) accepted.push_back(number_json(share));
    json["exchange"] = {{"accepted", accepted},
                        {"round_trips", exchange->round_trips},
                        {"trips_per_1000_cycles", exchange->trips_per_1000}};
  }
  json["warnings"] = warnings;
  json["trajectory_hash"] = text_at(task.provenance, "trajectory_hash");
  const TaskSpec spec = stored_spec(task);
  if (spec.model.is_potts()) {
    json["model"] = "potts";
    json["q"] = spec.model.q;
  }
  json["engine"] = to_string(spec.engine);
  json["device"] = text_at(task.provenance, "device");
  json["threads"] = static_cast<int>(number_at(task.provenance, "threads"));
  json["seconds"] = number_at(task.provenance, "work.seconds");
  json["updates_per_ns"] = updates_per_ns(task);
  if (const Json steps = steps_json(task); !steps.is_null()) json["cluster_steps"] = steps;
  return json;
}

std::string run_table(const TaskData& task, const CheckedRun& run,
                      const std::vector<std::string>& warnings, bool shows_overlaps) {
  const TaskSpec spec = stored_spec(task);
  std::string out = run_title(task, spec);
  auto rows = observable_rows(run, observable_groups().front());
  const auto& results = run.results;
  const bool has_clusters = std::ranges::any_of(results, [](const TemperatureResult& r) {
    return std::isfinite(r.estimate("cluster_fraction").value);
  });
  if (has_clusters) rows.front().emplace_back("<C>/N");
  rows.front().insert(rows.front().end(), {"tau(e)", "tau(m^2)"});
  for (std::size_t t = 0; t < results.size(); ++t) {
    const TemperatureResult& r = results[t];
    if (has_clusters) rows[t + 1].push_back(shown(r.estimate("cluster_fraction"), run.checks[t]));
    for (const char* name : {"energy", "m2"}) {
      rows[t + 1].push_back(shown_tau(r.tau.at(name), run.checks[t]));
    }
  }
  out += aligned_table(rows);
  for (const ObservableGroup& group : observable_groups()) {
    if (group.name == "overlap" && !shows_overlaps) continue;
    out += group_table(run, group, spec.model.q);
  }
  out += exchange_text(task);
  out += checks_text(run, warnings);
  if (spec.model.is_potts()) {
    out +=
        "\n|m| = (q N_max/N - 1)/(q - 1), N_max sites in the most frequent state; e = -(bonds "
        "between\nequal states)/N.";
  }
  out += fmt::format(
      "\nPer site, J = k_B = 1; {} (one standard error, jackknife\nover {}). tau: integrated "
      "autocorrelation time in cycles; uncorrelated\n"
      "measurements give every/2 = {}.\n",
      kErrorLegend,
      results.front().block_length > 0 ? "time blocks"
      : spec.schedule.houdayer         ? "pairs of replicas"
                                       : "replicas",
      static_cast<double>(spec.every) / 2);
  const auto tau_unknown = [&](const TemperatureResult& r) {
    const auto bounded = [&](std::string_view name) {
      const auto tau = r.tau.find(name);
      return tau != r.tau.end() && !std::isfinite(tau->second.error);
    };
    return bounded("energy") || bounded("m2") || (shows_overlaps && bounded("overlap_m2"));
  };
  if (std::any_of(results.begin(), results.end(), tau_unknown)) {
    out += "\"> x\": tau is longer than x; measure at least 10 tau.\n";
  }
  if (out.find("(nan)") != std::string::npos) {
    out += "\"(nan)\": the error is unknown, because all measurements are equal or too few.\n";
  }
  out += fmt::format("{:.3g} s, {:.3g} updates/ns, trajectory {}\n",
                     number_at(task.provenance, "work.seconds"), updates_per_ns(task),
                     text_at(task.provenance, "trajectory_hash"));
  return out;
}

}  // namespace rewise

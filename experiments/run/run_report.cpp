#include "experiments/run/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "experiments/console/table.hpp"
#include "experiments/tasks/task_results.hpp"

namespace rewise {
namespace {

// Autocorrelation times after which a start should be forgotten that no other is compared with.
constexpr double kLeastDropped = 10;

double provenance_number(const TaskData& task, const std::string& key) {
  const auto found = task.provenance.find(key);
  return found == task.provenance.end() ? 0 : std::strtod(found->second.c_str(), nullptr);
}

std::string provenance_text(const TaskData& task, const std::string& key) {
  const auto found = task.provenance.find(key);
  return found == task.provenance.end() ? "" : found->second;
}

double updates_per_ns(const TaskData& task) {
  const double seconds = provenance_number(task, "work.update_seconds");
  return seconds > 0 ? provenance_number(task, "work.updates") / seconds * 1e-9 : 0;
}

// Seconds of the steps of cluster updates that label; null where there were none.
Json steps_json(const TaskData& task) {
  Json json;
  double sum = 0;
  for (const char* step : {"activate", "label", "merge", "flip"}) {
    const double seconds = provenance_number(task, fmt::format("work.{}_seconds", step));
    json[step] = seconds;
    sum += seconds;
  }
  return sum > 0 ? json : Json(nullptr);
}

void add_tau(Json& json, Value tau) {
  json["tau"] = std::isfinite(tau.error) ? Json(tau.value) : Json(nullptr);
}

int states(const TaskData& task) { return static_cast<int>(configured(task, "sampling.q", 2)); }

bool is_potts(const TaskData& task) { return task.configuration.at("sampling.model") == "potts"; }

// A lower bound has no error.
std::string shown_tau(Value v) {
  if (!std::isfinite(v.value)) return "-";
  return std::isfinite(v.error) ? format_value(v) : fmt::format("> {:.2g}", v.value);
}

std::string shown(Value v) { return std::isfinite(v.value) ? format_value(v) : "-"; }

// Few-cluster updates have two parameters more than others.
std::string cluster_text(const TaskData& task) {
  const auto& key = task.configuration;
  const std::string& name = key.at("sampling.cluster");
  if (name != "few-cluster") return name;
  const std::string& edge = key.at("sampling.few_cluster_tile");
  return fmt::format("few-cluster (tiles {}, flip {})", edge == "0" ? "auto" : "of edge " + edge,
                     key.at("sampling.few_cluster_flip"));
}

// What the improved estimators say, where there are more than <C>/N.
std::string improved_table(const std::vector<TemperatureResult>& results, int q) {
  if (!std::isfinite(results.front().clusters.m4.value)) return "";
  std::vector<std::vector<std::string>> rows{{"T", "m^2", "m^4", "U"}};
  for (const auto& r : results) {
    rows.push_back({fmt::format("{}", r.temperature), shown(r.clusters.m2), shown(r.clusters.m4),
                    shown(r.clusters.binder)});
  }
  std::string out = "\nFrom the sizes of all clusters (improved estimators):\n\n";
  out += aligned_table(rows);
  if (q > 2) {
    out +=
        "\nHere m is a vector, m^2 = (q sum_a (N_a/N)^2 - 1)/(q - 1) with N_a sites in state a.\n";
  }
  return out;
}

}  // namespace

Json run_json(const TaskData& task) {
  Json json;
  json["graph"] = graph_json(task.graph, task.graph.rewired());
  json["results"] = Json::array();
  for (const auto& r : results_of(task)) {
    Json row;
    row["temperature"] = r.temperature;
    row["beta"] = 1 / r.temperature;
    row["replicas"] = r.replicas;
    row["measurements"] = r.measurements;
    for (std::size_t k = 0; k < observables().size(); ++k) {
      const auto name = observables()[k].name;
      if (observables()[k].compares_sizes) continue;
      Json& json_of = row[std::string(name)] = value_json(r.observables[k]);
      if (const auto tau = r.tau.find(name); tau != r.tau.end()) add_tau(json_of, tau->second);
    }
    row["cluster_fraction"] = value_json(r.cluster_fraction);
    if (std::isfinite(r.clusters.m4.value)) {
      row["improved"] = {{"m2", value_json(r.clusters.m2)},
                         {"m4", value_json(r.clusters.m4)},
                         {"binder", value_json(r.clusters.binder)}};
    }
    json["results"].push_back(std::move(row));
  }
  json["trajectory_hash"] = provenance_text(task, "trajectory_hash");
  if (is_potts(task)) {
    json["model"] = "potts";
    json["q"] = states(task);
  }
  json["engine"] = task.configuration.at("sampling.engine");
  json["device"] = provenance_text(task, "device");
  json["threads"] = static_cast<int>(provenance_number(task, "threads"));
  json["seconds"] = provenance_number(task, "work.seconds");
  json["updates_per_ns"] = updates_per_ns(task);
  if (const Json steps = steps_json(task); !steps.is_null()) json["cluster_steps"] = steps;
  return json;
}

std::string run_table(const TaskData& task) {
  const auto& key = task.configuration;
  std::string out = fmt::format("{}\n{} sites, {} bonds ({} rewired), {} modified cells\n",
                                graph_title(task.graph), task.graph.sites, task.graph.bonds,
                                task.graph.rewired(), task.graph.modified);
  if (is_potts(task)) {
    out += fmt::format("Potts model with {} states\n", states(task));
  }
  out += fmt::format("{} engine, {} {}, {} : {} = {}; {} replicas, seed {}\n",
                     key.at("sampling.engine"), provenance_text(task, "device"),
                     "with " + provenance_text(task, "threads") + " thread(s)",
                     key.at("sampling.local"), cluster_text(task), key.at("sampling.schedule"),
                     task.replicas, key.at("sampling.seed"));
  out += fmt::format("{} cycles to equilibrate, then {} measurements, one every {} cycle(s)\n\n",
                     key.at("sampling.equilibrate"), task.energy.time(), key.at("sampling.every"));

  std::vector<std::vector<std::string>> rows{{"T"}};
  for (const Observable& o : observables()) {
    if (!o.symbol.empty()) rows.front().emplace_back(o.symbol);
  }
  rows.front().insert(rows.front().end(), {"<C>/N", "tau(e)", "tau(m^2)"});
  const auto results = results_of(task);
  for (const auto& r : results) {
    auto& row = rows.emplace_back(1, fmt::format("{}", r.temperature));
    for (std::size_t k = 0; k < observables().size(); ++k) {
      if (!observables()[k].symbol.empty()) row.push_back(shown(r.observables[k]));
    }
    row.push_back(shown(r.cluster_fraction));
    for (const char* name : {"energy", "m2"}) row.push_back(shown_tau(r.tau.at(name)));
  }
  out += aligned_table(rows);
  out += improved_table(results, states(task));
  if (is_potts(task)) {
    out +=
        "\n|m| = (q N_max/N - 1)/(q - 1), N_max sites in the most frequent state; e = -(bonds "
        "between\nequal states)/N.";
  }
  out += fmt::format(
      "\nPer site, J = k_B = 1; 2.3772(4) means 2.3772 +- 0.0004 (one standard error, jackknife\n"
      "over {}). tau: integrated autocorrelation time in cycles; uncorrelated\n"
      "measurements give every/2 = {}.\n",
      results.front().stretch > 0 ? "stretches of time" : "replicas",
      configured(task, "sampling.every", 1) / 2);
  const auto tau_unknown = [](const TemperatureResult& r) {
    return !std::isfinite(r.tau.at("energy").error) || !std::isfinite(r.tau.at("m2").error);
  };
  if (std::any_of(results.begin(), results.end(), tau_unknown)) {
    out += "\"> 12\": the series is too short, some 10 tau are needed.\n";
  }
  if (out.find("(nan)") != std::string::npos) {
    out +=
        "\"(nan)\": the measurements are all alike, or too few to tell how far off they may be.\n";
  }
  out += fmt::format("{:.3g} s, {:.3g} spin updates/ns, trajectory {}\n",
                     provenance_number(task, "work.seconds"), updates_per_ns(task),
                     provenance_text(task, "trajectory_hash"));
  return out;
}

std::string result_warnings(const TaskData& task) {
  const double every = configured(task, "sampling.every", 1);
  const auto start = task.configuration.find("sampling.start");
  const bool mixed = start == task.configuration.end() || start->second == "mixed";
  const double dropped =
      configured(task, "sampling.warm_up", 0) + configured(task, "sampling.equilibrate", 0);
  std::string lines;
  const std::vector<TemperatureResult> results = results_of(task);
  for (std::size_t k = 0; k < results.size(); ++k) {
    const TemperatureResult& r = results[k];
    if (!cluster_sums_fit(task, k)) {
      lines += fmt::format(
          "warning: T = {}: no <C>/N: the sums of squares of cluster sizes between two "
          "measurements "
          "may have outgrown 64 bits; measure more often (--every)\n",
          r.temperature);
    }
    const double tau = r.tau.at("m2").value;
    const bool known = std::isfinite(r.tau.at("m2").error);
    // Where the series does not tell: ten times as long as it is.
    const double likely = known ? tau : kLeastDropped * static_cast<double>(r.measurements) * every;
    const std::string tau_text = std::isnan(tau) ? "not known"
                                 : known         ? fmt::format("{:.2g}", tau)
                                                 : fmt::format("more than {:.2g}", tau);
    if (!mixed && dropped < kLeastDropped * likely) {
      lines += fmt::format(
          "warning: T = {}: all replicas started {}, and {} cycles before the first measurement "
          "are few where tau(m^2) is {}: nothing shows that this is equilibrium; raise "
          "--equilibrate, or take --start mixed, which compares both starts\n",
          r.temperature, start->second, dropped, tau_text);
    }
    if (!r.hot_cold.agree) {
      lines += fmt::format(
          "warning: T = {}: replicas that started hot and cold differ in |m| by {:.1f} standard "
          "errors: not in equilibrium, raise --equilibrate\n",
          r.temperature, std::abs(r.hot_cold.z));
    }
    const double cycles = static_cast<double>(r.stretch) * every;
    if (r.stretch > 0 && (!known || cycles < kLeastStretch * tau)) {
      lines += fmt::format(
          "warning: T = {}: errors are too small: with {} replica(s) they come from stretches of "
          "{} cycles, where tau(m^2) is {}; raise --measure (and --equilibrate where starts "
          "still differ), or take {} replicas\n",
          r.temperature, r.replicas, cycles, tau_text, kFewReplicas);
    }
  }
  return lines;
}

}  // namespace rewise

#include "src/search/sweep_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <set>

#include "src/base/table.hpp"
#include "src/search/summary_parts.hpp"
#include "src/search/tune_trial.hpp"
#include "src/study/parse.hpp"

namespace rewise {
namespace {

// One value of a curve, "-" where it is not known.
std::string curve_text(const Json& size, const char* quantity, std::size_t t) {
  const Json& value = size[quantity]["value"][t];
  const Json& error = size[quantity]["error"][t];
  if (value.is_null()) return "-";
  if (error.is_null()) return fmt::format("{:.6g}", value.get<double>());
  return format_value({value, error});
}

std::string extents_of(const Json& size) {
  if (size["extents"].empty()) return size.value("graph", "");
  return fmt::format("{}", fmt::join(size["extents"].get<std::vector<int>>(), "x"));
}

// "1:4", or "1:4 SW": its cycles are the unit of tau.
std::string schedule_of(const Json& size) {
  return candidate_text({parse_schedule(size["schedule"].get<std::string>(), "summary"),
                         parse_cluster_update(size["cluster"].get<std::string>(), "summary")});
}

Json target_json(const SweepTarget& target, const SizeData& size) {
  Json json;
  json["asked"] = target.asked;
  json["error"] = number_json(target.reached);
  json["observable"] = target.observable;
  json["temperature"] = target.temperature;
  json["thermal"] = target.thermal;
  json["reached"] = target.reached <= target.asked;
  json["stopped"] = target.stopped.empty() ? Json(nullptr) : Json(target.stopped);
  json["rounds"] = target.rounds;
  json["graphs_before"] = target.graphs_before;
  json["graphs_added"] = size.samples.graphs.size() - target.graphs_before;
  json["measurements_before"] = target.measurements_before;
  json["measurements_added"] = size.plan.measure - target.measurements_before;
  return json;
}

// How many sizes have reached the target; of those that have not, at most `most`, where and why.
std::string target_text(const Json& summary, std::size_t most) {
  const Json& sampling = summary["sampling"];
  if (sampling["target_error"].is_null()) return "";
  std::size_t reached = 0, all = 0;
  std::vector<std::vector<std::string>> rows;
  for (const auto& point : summary["points"]) {
    for (const auto& size : point["sizes"]) {
      const Json& target = size["target"];
      ++all;
      if (target["reached"].get<bool>()) {
        ++reached;
        continue;
      }
      const std::string label = point["label"];
      std::string verdict = "not yet";
      if (target["stopped"].is_string()) {
        verdict = "MISSED: " + target["stopped"].get<std::string>();
      }
      rows.push_back(
          {fmt::format("p = {}{}{}", number_text(point["p"]), label.empty() ? "" : ", ", label),
           extents_of(size),
           target["error"].is_null()
               ? "-"
               : fmt::format("{:.1e} ({} at T = {})", target["error"].get<double>(),
                             target["observable"].get<std::string>(),
                             number_text(target["temperature"])),
           verdict});
    }
  }
  std::string out =
      fmt::format("\nTarget: a relative error of {} for {}: reached by {} of {} size(s).\n",
                  sampling["target_error"].get<double>(),
                  fmt::join(sampling["target_observables"].get<std::vector<std::string>>(), ", "),
                  reached, all);
  const std::size_t more = rows.size() > most ? rows.size() - most : 0;
  rows.resize(rows.size() - more);
  out += aligned_table(rows);
  if (more > 0) out += fmt::format("  .. and {} more in summary.json\n", more);
  return out;
}

}  // namespace

Json sweep_summary(const StudyConfig& config, const std::vector<SweepPoint>& points,
                   double seconds) {
  Json json = summary_head(config, "sweep", seconds);
  json["points"] = Json::array();
  for (const SweepPoint& point : points) {
    Json added;
    added["p"] = point.p;
    added["dim"] = point.dim;
    added["rule"] = to_string(point.rule);
    added["schedule"] = point.schedule ? to_string(*point.schedule) : "auto";
    added["label"] = point.label;
    added["sizes"] = Json::array();
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      added["sizes"].push_back(
          size_json(point.sizes[k], point.curves[k], point.hot_cold[k], config.replicas));
      added["sizes"].back()["target"] =
          point.targets.empty() ? Json(nullptr) : target_json(point.targets[k], point.sizes[k]);
    }
    added["warnings"] = point.warnings;
    json["points"].push_back(std::move(added));
  }
  json["warnings"] = Json::array();
  return json;
}

std::string sweep_csv(const StudyConfig& config, const std::vector<SweepPoint>& points) {
  std::string out = csv_header();
  for (const SweepPoint& point : points) {
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      out += csv_rows(config, point.p, point.rule, point.sizes[k], point.curves[k]);
    }
  }
  return out;
}

std::string sweep_table(const Json& summary, std::size_t most) {
  // Own graphs have names, and neither p nor extents.
  const auto& points = summary["points"];
  const bool own = !points.empty() && points[0]["rule"] == to_string(Rule::imported);
  std::vector<std::vector<std::string>> rows{{own ? "graph" : "p", own ? "sites" : "size", "T", "e",
                                              "|m|", "m2", "U", "C", "chi", "<C>/N", "tau"}};
  bool labels = false, controls = false;
  std::set<std::string> schedules;  // tau is in cycles of them
  for (const auto& point : summary["points"]) {
    labels = labels || (!own && point["label"] != "");
    for (const auto& size : point["sizes"]) schedules.insert(schedule_of(size));
  }
  if (schedules.size() > 1) rows.front().emplace_back("schedule");
  if (labels) rows.front().insert(rows.front().begin(), "variant");
  std::size_t all = 0;
  std::string warnings;
  for (const auto& point : summary["points"]) {
    const std::string label = point["label"];
    const std::string p = number_text(point["p"]);
    for (const auto& size : point["sizes"]) {
      controls = controls || !size.value("controls", Json::array()).empty();
      for (std::size_t t = 0; t < size["temperatures"].size(); ++t, ++all) {
        if (all >= most) continue;
        auto& row = rows.emplace_back();
        if (labels) row.push_back(label);
        row.insert(row.end(),
                   {own ? size.value("graph", "") : p,
                    own ? fmt::format("{}", size["sites"].get<std::uint64_t>()) : extents_of(size),
                    number_text(size["temperatures"][t])});
        for (const char* quantity : {"energy", "abs_magnetisation", "m2", "binder", "specific_heat",
                                     "susceptibility", "cluster_fraction", "tau"}) {
          row.push_back(curve_text(size, quantity, t));
        }
        if (schedules.size() > 1) row.push_back(schedule_of(size));
      }
    }
    for (const auto& warning : point["warnings"]) {
      const std::string place =
          own ? point["sizes"][0].value("graph", "")
              : fmt::format("p = {}{}{}", p, label.empty() ? "" : ", ", label);
      warnings += fmt::format("warning: {}: {}\n", place, warning.get<std::string>());
    }
  }
  std::string out = fmt::format("\n{}: thermal averages\n\n", summary["name"].get<std::string>()) +
                    aligned_table(rows);
  if (all > most) out += fmt::format("  .. and {} rows more in summary.csv\n", all - most);
  out += target_text(summary, most);
  out +=
      "\n2.3772(4) means 2.3772 +- 0.0004: one standard error, by jackknife over graphs (over\n"
      "replicas where there is one graph). tau is tau_int of m^2 in cycles of the schedule. J = "
      "k_B "
      "= 1.\n";
  if (controls) {
    out +=
        "Control variates correct averages over graphs where they lower the error (F test);\n"
        "without them: energy_plain and so on in summary.csv.\n";
  }
  return out + warnings;
}

}  // namespace rewise

#include "experiments/sweep_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "experiments/options.hpp"
#include "experiments/summary_parts.hpp"
#include "experiments/table.hpp"

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
  return fmt::format("{}", fmt::join(size["extents"].get<std::vector<int>>(), "x"));
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
  std::vector<std::vector<std::string>> rows{
      {"p", "size", "T", "e", "|m|", "m2", "U", "C", "chi", "<C>/N", "tau"}};
  bool labels = false;
  for (const auto& point : summary["points"]) labels = labels || !point["label"].empty();
  if (labels) rows.front().insert(rows.front().begin(), "");
  std::size_t all = 0;
  std::string warnings;
  for (const auto& point : summary["points"]) {
    const std::string label = point["label"];
    const std::string p = number_text(point["p"]);
    for (const auto& size : point["sizes"]) {
      for (std::size_t t = 0; t < size["temperatures"].size(); ++t, ++all) {
        if (all >= most) continue;
        auto& row = rows.emplace_back();
        if (labels) row.push_back(label);
        row.insert(row.end(), {p, extents_of(size), number_text(size["temperatures"][t])});
        for (const char* quantity : {"energy", "abs_magnetisation", "m2", "binder", "specific_heat",
                                     "susceptibility", "cluster_fraction", "tau"}) {
          row.push_back(curve_text(size, quantity, t));
        }
      }
    }
    for (const auto& warning : point["warnings"]) {
      warnings += fmt::format("warning: p = {}{}{}: {}\n", p, label.empty() ? "" : ", ", label,
                              warning.get<std::string>());
    }
  }
  std::string out = fmt::format("\n{}: thermal averages\n\n", summary["name"].get<std::string>()) +
                    aligned_table(rows);
  if (all > most) out += fmt::format("  .. and {} rows more in summary.csv\n", all - most);
  out +=
      "\n2.3772(4) means 2.3772 +- 0.0004: one standard error, by jackknife over graphs (over\n"
      "replicas where there is one graph). tau is tau_int of m^2 in cycles. J = k_B = 1.\n";
  return out + warnings;
}

}  // namespace rewise

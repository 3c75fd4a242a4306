#include "src/search/tc_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/table.hpp"
#include "src/search/summary_parts.hpp"

namespace rewise {
namespace {

Json tc_size_json(const SizeData& size, const SizeResult& result, std::uint32_t replicas) {
  Json json = size_json(size, result.simulated, result.hot_cold, replicas);
  json["fine"]["temperatures"] = result.fine_temperatures;
  json["fine"]["binder"] = curve_json(result.fine_binder);
  json["fine"]["scaled_m2"] = curve_json(result.fine_scaled_m2);
  json["scaled_m2_power"] = size.samples.m2_power;
  return json;
}

std::string_view quantity(int observable) { return observable == 0 ? "binder" : "scaled_m2"; }

const std::vector<std::uint32_t>& extents_of(const PointData& point, double sites) {
  const auto found = std::find_if(point.sizes.begin(), point.sizes.end(),
                                  [&](const SizeData& s) { return s.samples.sites == sites; });
  return found->extents;
}

Json crossings_json(const PointData& point, const PointResult& result) {
  constexpr std::string_view status[] = {"found", "none", "unstable"};
  std::vector<std::size_t> used, height_used;  // the latter: of the crossings of U
  if (result.tc.ok) used = result.tc.fits[result.tc.chosen].used;
  if (result.binder.ok) height_used = result.binder.fits[result.binder.chosen].used;
  const auto is_in = [](const std::vector<std::size_t>& list, std::size_t i) {
    return std::find(list.begin(), list.end(), i) != list.end();
  };
  Json list = Json::array();
  std::size_t of_binder = 0;
  for (std::size_t i = 0; i < result.crossings.size(); ++i) {
    const Crossing& c = result.crossings[i];
    const bool known = c.status != CrossingStatus::none;
    Json json;
    json["quantity"] = quantity(c.observable);
    const bool pair = !c.with_limit();  // else with the limit of U: of one size
    json["extents"] = {extents_of(point, c.smaller)};
    json["sites"] = {c.smaller};
    if (pair) json["extents"].push_back(extents_of(point, c.larger));
    if (pair) json["sites"].push_back(c.larger);
    json["status"] = status[static_cast<std::size_t>(c.status)];
    json["temperature"] = known ? printed_json(estimate(c.temperature)) : Json(nullptr);
    json["height"] = known ? printed_json(estimate(c.height)) : Json(nullptr);
    json["shift"] = crossing_shift(c.smaller, c.larger, result.exponents);
    if (pair) json["height_shift"] = crossing_height_shift(c.smaller, c.larger, result.exponents);
    json["used"] = is_in(used, i);
    if (c.observable == 0 && pair) json["height_used"] = is_in(height_used, of_binder++);
    list.push_back(std::move(json));
  }
  return list;
}

// "error" is statistical; "total_error" and "text" hold what the extrapolation leaves out too. The
// fit of greatest weight: limit + amplitude * (finite-size term), an amplitude per observable.
Json extrapolated_json(const Extrapolation& extrapolation, const std::vector<Crossing>& crossings) {
  if (!extrapolation.ok) return nullptr;
  const Value total = extrapolation.total();
  Json json = printed_json(total);
  json["error"] = number_json(extrapolation.value.error);
  json["systematic"] = number_json(extrapolation.systematic);
  json["total_error"] = number_json(total.error);
  const CrossingFit& chosen = extrapolation.fits[extrapolation.chosen];
  json["form"] = "shifted";
  json["chi2"] = chosen.fit.chi2;
  json["dof"] = chosen.fit.dof;
  json["q"] = number_json(chosen.fit.q);
  json["smallest"] = chosen.smallest;
  json["fit_limit"] = value_json(chosen.fit.parameter(0));
  json["fit"] = Json::array();
  std::vector<int> observables;
  for (const auto i : chosen.used) observables.push_back(crossings[i].observable);
  std::sort(observables.begin(), observables.end());
  observables.erase(std::unique(observables.begin(), observables.end()), observables.end());
  for (std::size_t k = 0; k < observables.size(); ++k) {
    const auto parameter = static_cast<Eigen::Index>(k) + 1;
    json["fit"].push_back({{"quantity", quantity(observables[k])},
                           {"amplitude", value_json(chosen.fit.parameter(parameter))},
                           {"covariance", number_json(chosen.fit.covariance(0, parameter))}});
  }
  return json;
}

// Tc as it was extrapolated; of a point that has none, what was refused.
Json tc_json(const PointResult& result) {
  Json json = extrapolated_json(result.tc, result.crossings);
  json["method"] = result.p > 0 ? "mean-field" : "regular";
  return json;
}

Json binder_json(const PointResult& result) {
  std::vector<Crossing> of_binder;
  for (const Crossing& c : result.crossings) {
    if (c.observable == 0 && !c.with_limit()) of_binder.push_back(c);
  }
  return extrapolated_json(result.binder, of_binder);
}

// null where the curves do not collapse.
Json collapse_json(const PointResult& result) {
  if (!result.collapse) return nullptr;
  const bool good = result.collapse_against.empty();
  return {{"tc", good ? printed_json(result.collapse->tc) : Json(nullptr)},
          {"y", good ? printed_json(result.collapse->y) : Json(nullptr)},
          {"against", good ? Json(nullptr) : Json(result.collapse_against)},
          {"y_theory", result.exponents.y},
          {"quality", number_json(result.collapse->quality)},
          {"range", result.collapse_range}};
}

Json candidate_json(const PointResult& result) {
  if (result.accepted()) return nullptr;
  if (result.tc.ok) return tc_json(result);
  const auto last = result.candidate();
  if (!last) return nullptr;
  Json json = printed_json(*last);
  json["systematic"] = nullptr;  // unknown
  json["total_error"] = nullptr;
  return json;
}

Json reasons_json(const PointResult& result) {
  Json list = Json::array();
  for (const Reason& reason : result.reasons) list.push_back(reason.text);
  return list;
}

// null without a target.
Json target_json(const PointData& point) {
  if (!point.target) return nullptr;
  const TargetState& target = *point.target;
  Json json;
  json["asked"] = target.asked;
  json["error"] = number_json(target.reached);
  json["reached"] = target.done;
  json["stopped"] = target.stopped.empty() ? Json(nullptr) : Json(target.stopped);
  json["rounds"] = target.rounds;
  json["sizes"] = Json::array();
  for (std::size_t k = 0; k < target.sizes.size(); ++k) {
    const SizeTarget& size = target.sizes[k];
    const SizeData& now = point.sizes[k];
    json["sizes"].push_back({{"extents", now.extents},
                             {"graphs_before", size.graphs_before},
                             {"graphs_added", now.samples.graphs.size() - size.graphs_before},
                             {"measurements_before", size.measurements_before},
                             {"measurements_added", now.plan.measure - size.measurements_before},
                             {"share", number_json(size.share)},
                             {"thermal", number_json(size.thermal)}});
  }
  return json;
}

Json point_json(const StudyConfig& config, const PointData& point, const PointResult& result) {
  Json json;
  json["p"] = point.p;
  json["sizes"] = Json::array();
  for (std::size_t k = 0; k < point.sizes.size(); ++k) {
    json["sizes"].push_back(tc_size_json(point.sizes[k], result.sizes[k], config.replicas));
  }
  json["crossings"] = crossings_json(point, result);
  json["tc"] = result.accepted() ? tc_json(result) : Json(nullptr);
  json["status"] = to_string(result.status());
  json["reasons"] = reasons_json(result);
  json["candidate"] = candidate_json(result);
  json["binder_limit"] = binder_json(result);
  json["collapse"] = collapse_json(result);
  json["scaling"] = {{"y", result.exponents.y}, {"w", result.exponents.w}};
  json["binder_expected"] = result.binder_expected ? Json(*result.binder_expected) : Json(nullptr);
  json["tc_exact"] = result.exact ? Json(*result.exact) : Json(nullptr);
  json["shift"] = result.shift ? printed_json(*result.shift) : Json(nullptr);
  json["target"] = target_json(point);
  json["warnings"] = result.warnings;
  return json;
}

Json exponents_json(const TcResult& result) {
  Json list = Json::array();
  for (Eigen::Index k = 0; k < result.local.p.size(); ++k) {
    list.push_back({{"p_low", result.shift.p(k)},
                    {"p_high", result.shift.p(k + 1)},
                    {"p", result.local.p(k)},
                    {"exponent", printed_json(result.local.exponent[k])}});
  }
  return list;
}

Json power_laws_json(const TcResult& result) {
  Json list = Json::array();
  for (const auto& law : result.power_laws) {
    if (!law.ok) continue;
    list.push_back({{"p_first", law.p_first},
                    {"p_last", law.p_last},
                    {"amplitude", printed_json(law.amplitude)},
                    {"exponent", printed_json(law.exponent)},
                    {"covariance", number_json(law.covariance(0, 1))},
                    {"chi2", number_json(law.chi2)},
                    {"dof", law.dof},
                    {"q", number_json(law.q)}});
  }
  return list;
}

}  // namespace

Json tc_summary(const StudyConfig& config, const std::vector<PointData>& points,
                const TcResult& result, double seconds) {
  Json json = summary_head(config, "tc", seconds);
  json["points"] = Json::array();
  for (std::size_t i = 0; i < points.size(); ++i) {
    json["points"].push_back(point_json(config, points[i], result.points[i]));
  }
  if (result.tc0_source.empty()) {
    json["tc0"] = nullptr;
  } else {
    json["tc0"] = printed_json(result.tc0);
    json["tc0"]["source"] = result.tc0_source;
    json["tc0"]["measured"] =
        result.measured_tc0 ? printed_json(*result.measured_tc0) : Json(nullptr);
  }
  json["local_exponents"] = exponents_json(result);
  json["power_laws"] = power_laws_json(result);
  json["warnings"] = Json::array();
  return json;
}

std::string tc_csv(const StudyConfig& config, const std::vector<PointData>& points,
                   const TcResult& result) {
  std::string out = csv_header();
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t k = 0; k < points[i].sizes.size(); ++k) {
      out += csv_rows(config, points[i].p, config.rule, points[i].sizes[k],
                      result.points[i].sizes[k].simulated);
    }
  }
  return out;
}

// The headline.

namespace {

// {"value", "error", "systematic"} as a value with one standard error, NaN where it is not known.
Value total(const Json& json) {
  const double error = json["error"].is_null() ? std::numeric_limits<double>::quiet_NaN()
                                               : json["error"].get<double>();
  const Json& systematic = json.contains("systematic") ? json["systematic"] : Json(0.0);
  if (systematic.is_null()) return {json["value"], std::numeric_limits<double>::quiet_NaN()};
  return {json["value"], std::hypot(error, systematic.get<double>())};
}

std::string text(const Json& json) { return json.is_null() ? "-" : format_value(total(json)); }

std::string p_text(const Json& point) { return fmt::format("{}", point["p"].get<double>()); }

std::string json_extents_text(const Json& size) {
  return fmt::format("{}", fmt::join(size["extents"].get<std::vector<int>>(), "x"));
}

std::vector<std::string> table_row(const Json& point) {
  const auto& tc = point["tc"];
  const auto& sizes = point["sizes"];
  std::vector<std::string> row{p_text(point), text(tc)};
  if (tc.is_null()) {
    row.insert(row.end(), {"-", "-", "-", "-", "-"});
  } else {
    const auto& expected = point["binder_expected"];
    row.push_back(fmt::format("{:.1e}", total(tc).error / total(tc).value));
    row.push_back(text(point["shift"]));
    row.push_back(text(point["binder_limit"]));
    row.push_back(expected.is_null() ? "-" : fmt::format("{:.4f}", expected.get<double>()));
    row.push_back(fmt::format("{:.1f}/{}", tc["chi2"].get<double>(), tc["dof"].get<int>()));
  }
  if (sizes.empty()) {
    row.insert(row.end(), {"-", "-"});
    return row;
  }
  row.push_back(
      fmt::format("{}..{}", json_extents_text(sizes.front()), json_extents_text(sizes.back())));
  row.push_back(
      fmt::format("{}..{}", sizes.front()["graphs"].get<int>(), sizes.back()["graphs"].get<int>()));
  return row;
}

// Why a point has no Tc, and what to do: one line each.
std::string reasons_text(const Json& summary) {
  std::string out;
  for (const auto& point : summary["points"]) {
    for (const auto& reason : point["reasons"]) {
      out += fmt::format("p = {}: no Tc ({}): {}\n", p_text(point),
                         point["status"].get<std::string>(), reason.get<std::string>());
    }
  }
  return out.empty() ? "" : "\n" + out;
}

// The last line of a study in which some p has no Tc.
std::string missing_text(const Json& summary) {
  std::vector<std::string> without;
  for (const auto& point : summary["points"]) {
    if (point["tc"].is_null()) without.push_back(p_text(point));
  }
  if (without.empty()) return "";
  return fmt::format("{} of {} p without Tc: {} (reasons above)\n", without.size(),
                     summary["points"].size(), fmt::join(without, ", "));
}

// How Tc compares with what is known exactly.
std::string known_text(const Json& point) {
  if (point["tc_exact"].is_null() || point["tc"].is_null()) return "";
  const double exact = point["tc_exact"];
  const Value tc = total(point["tc"]);
  return fmt::format("\nTc({}) is known: {:.6f}; ours lies {:+.1f} standard errors from it.\n",
                     p_text(point), exact, (tc.value - exact) / tc.error);
}

std::string collapse_text(const Json& summary) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& point : summary["points"]) {
    if (!point.contains("collapse") || point["collapse"].is_null()) continue;
    const auto& found = point["collapse"];
    rows.push_back(
        {"p = " + p_text(point), fmt::format("S = {:.2g}", found["quality"].get<double>())});
    if (found["against"].is_string()) {
      rows.back().push_back(found["against"].get<std::string>());
    } else {
      rows.back().push_back(fmt::format("Tc = {}, y = {} (theory {:.4g})", text(found["tc"]),
                                        text(found["y"]), found["y_theory"].get<double>()));
    }
  }
  if (rows.empty()) return "";
  return "\nCollapse of U on (T - Tc) N^y, without corrections to scaling (S: mean squared "
         "distance\n"
         "from one curve in units of the errors):\n" +
         aligned_table(rows);
}

std::string exponents_text(const Json& exponents) {
  if (exponents.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const auto& law : exponents) {
    rows.push_back(
        {fmt::format("p = {}..{}", law["p_low"].get<double>(), law["p_high"].get<double>()),
         "x = " + text(law["exponent"])});
  }
  return "\nTc(p) - Tc(0) grows locally as p^x:\n" + aligned_table(rows);
}

// "64x64: 120 graphs, 20 -> 40 measurements" of every size to which something was added.
std::string added_text(const Json& target) {
  std::vector<std::string> parts;
  for (const auto& size : target["sizes"]) {
    const auto graphs = size["graphs_added"].get<int>(),
               measurements = size["measurements_added"].get<int>(),
               before = size["measurements_before"].get<int>();
    std::string part;
    if (graphs > 0) part = fmt::format("+{} graphs", graphs);
    if (measurements > 0 && before > 0) {
      part += fmt::format("{}{} -> {} measurements", part.empty() ? "" : ", ", before,
                          before + measurements);
    }
    if (!part.empty()) parts.push_back(json_extents_text(size) + " " + part);
  }
  return parts.empty() ? "nothing to add" : fmt::format("{}", fmt::join(parts, "; "));
}

// What became of the relative error that was asked for, p by p.
std::string target_text(const Json& summary) {
  if (summary["sampling"]["target_error"].is_null()) return "";
  std::string out = fmt::format("\nTarget: a relative error of {} for every Tc(p).\n",
                                summary["sampling"]["target_error"].get<double>());
  std::vector<std::vector<std::string>> rows;
  for (const auto& point : summary["points"]) {
    const auto& target = point["target"];
    if (target.is_null()) continue;  // stopped before
    std::string verdict = target["reached"].get<bool>() ? "reached" : "not yet";
    if (target["stopped"].is_string()) verdict = "MISSED: " + target["stopped"].get<std::string>();
    const Json& error = target["error"];
    rows.push_back(
        {fmt::format("p = {}", p_text(point)),
         error.is_null() ? "-" : fmt::format("{:.1e}", error.get<double>()), verdict,
         fmt::format("{} round(s): {}", target["rounds"].get<int>(), added_text(target))});
  }
  return rows.empty() ? "" : out + aligned_table(rows);
}

}  // namespace

std::string tc_headline(const Json& summary) {
  std::string out = fmt::format(
      "\n{}: critical temperatures, {}D, rule {}\n\n", summary["name"].get<std::string>(),
      summary["lattice"]["dim"].get<int>(), summary["lattice"]["rule"].get<std::string>());
  std::vector<std::vector<std::string>> rows{{"p", "Tc", "rel. error", "Tc - Tc(0)", "U at Tc",
                                              "(theory)", "chi2/dof", "sizes", "graphs"}};
  for (const auto& point : summary["points"]) rows.push_back(table_row(point));
  out += aligned_table(rows);
  out += reasons_text(summary);
  for (const auto& point : summary["points"]) out += known_text(point);
  out += collapse_text(summary);
  out += exponents_text(summary["local_exponents"]);
  out += target_text(summary);
  out +=
      "\n2.3772(4) means 2.3772 +- 0.0004: one standard error, by jackknife over graphs, with "
      "what\n"
      "the extrapolation over sizes leaves out. J = k_B = 1.\n";
  for (const auto& point : summary["points"]) {
    for (const auto& warning : point["warnings"]) {
      out += fmt::format("warning: p = {}: {}\n", p_text(point), warning.get<std::string>());
    }
  }
  return out + missing_text(summary);
}

}  // namespace rewise

#include "experiments/tc/tc_headline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "experiments/console/table.hpp"

namespace rewise {
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

std::string extents_text(const Json& size) {
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
  row.push_back(fmt::format("{}..{}", extents_text(sizes.front()), extents_text(sizes.back())));
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
    if (!part.empty()) parts.push_back(extents_text(size) + " " + part);
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

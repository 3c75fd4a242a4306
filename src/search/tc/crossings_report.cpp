#include "src/search/tc/crossings_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "src/base/count_text.hpp"
#include "src/base/table.hpp"
#include "src/search/summary_parts.hpp"
#include "src/search/tc/crossings_criterion.hpp"
#include "src/search/tc/tc_resamples.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

Json tc_size_json(const SizeData& size, const SizeAverages& averages, const FineCurves& fine,
                  std::uint32_t replicas) {
  Json json = size_json(size, averages, replicas);
  json["fine"]["temperatures"] = fine.temperatures;
  json["fine"]["binder"] = curve_json(fine.binder);
  json["fine"]["scaled_m2"] = curve_json(fine.scaled_m2);
  json["scaled_m2_power"] = size.samples.m2_power;
  return json;
}

const std::vector<std::uint32_t>& extents_of(const WindowPoint& point, double sites) {
  const auto found = std::find_if(point.sizes.begin(), point.sizes.end(),
                                  [&](const SizeData& s) { return s.samples.sites == sites; });
  return found->extents;
}

// A sweep names two of these keys differently: see ../sweep/sweep_report.cpp.
Json crossings_json(const WindowPoint& point, const TcPointResult& result) {
  constexpr std::string_view status[] = {"found", "none", "unstable"};
  std::vector<std::size_t> used, height_used;  // height_used: indices among crossings of U
  if (result.tc.ok) used = result.tc.fits[result.tc.chosen].used;
  if (result.binder.ok) height_used = result.binder.fits[result.binder.chosen].used;
  const auto is_in = [](const std::vector<std::size_t>& list, std::size_t i) {
    return std::find(list.begin(), list.end(), i) != list.end();
  };
  Json list = Json::array();
  std::size_t binder_index = 0;
  for (std::size_t i = 0; i < result.crossings.size(); ++i) {
    const Crossing& c = result.crossings[i];
    const bool known = c.status != CrossingStatus::none;
    Json json;
    json["quantity"] = crossing_name(c.observable);
    const bool pair = !c.with_limit();  // false: U of one size crosses its limit
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
    if (c.observable == kBinder && pair) json["height_used"] = is_in(height_used, binder_index++);
    list.push_back(std::move(json));
  }
  return list;
}

// "error" is statistical; "total_error" and "text" include the neglected terms. "fit" is the fit
// with the largest weight: limit + amplitude * (finite-size term), with one amplitude per
// observable.
Json extrapolated_json(const Extrapolation& extrapolation, const std::vector<Crossing>& crossings) {
  if (!extrapolation.ok) return nullptr;
  Json json = printed_json(TwoErrors{extrapolation.value, extrapolation.systematic});
  const CrossingFit& chosen = extrapolation.fits[extrapolation.chosen];
  json["form"] = "shifted";
  json["chi2"] = chosen.fit.chi2;
  json["dof"] = chosen.fit.dof;
  json["q"] = number_json(chosen.fit.q);
  json["smallest"] = chosen.smallest;
  json["fit_limit"] = value_json(chosen.fit.parameter(0));
  json["fit"] = Json::array();
  std::vector<CrossingObservable> observables;
  for (const auto i : chosen.used) observables.push_back(crossings[i].observable);
  std::sort(observables.begin(), observables.end());
  observables.erase(std::unique(observables.begin(), observables.end()), observables.end());
  for (std::size_t k = 0; k < observables.size(); ++k) {
    const auto parameter = static_cast<Eigen::Index>(k) + 1;
    json["fit"].push_back({{"quantity", crossing_name(observables[k])},
                           {"amplitude", value_json(chosen.fit.parameter(parameter))},
                           {"covariance", number_json(chosen.fit.covariance(0, parameter))}});
  }
  return json;
}

// The extrapolated Tc; for a point without Tc, the rejected value.
Json tc_json(const TcPointResult& result) {
  Json json = extrapolated_json(result.tc, result.crossings);
  json["method"] = result.p > 0 ? "mean-field" : "regular";
  return json;
}

Json binder_json(const TcPointResult& result) {
  std::vector<Crossing> binder_crossings;
  for (const Crossing& c : result.crossings) {
    if (c.observable == kBinder && !c.with_limit()) binder_crossings.push_back(c);
  }
  return extrapolated_json(result.binder, binder_crossings);
}

// null if no collapse was found; "against" says why one was rejected.
Json collapse_json(const TcPointResult& result) {
  if (!result.collapse) return nullptr;
  const bool good = result.collapse_against.empty();
  return {{"tc", good ? printed_json(result.collapse->tc) : Json(nullptr)},
          {"y", good ? printed_json(result.collapse->y) : Json(nullptr)},
          {"against", good ? Json(nullptr) : Json(result.collapse_against)},
          {"y_theory", result.exponents.y},
          {"quality", number_json(result.collapse->quality)},
          {"range", result.collapse_range}};
}

Json candidate_json(const TcPointResult& result) {
  if (result.accepted()) return nullptr;
  if (result.tc.ok) return tc_json(result);
  const auto last = result.candidate();
  if (!last) return nullptr;
  Json json = printed_json(*last);
  json["systematic"] = nullptr;  // unknown
  json["total_error"] = nullptr;
  return json;
}

std::vector<std::string> texts_of(const std::vector<Reason>& reasons) {
  std::vector<std::string> texts;
  for (const Reason& reason : reasons) texts.push_back(reason.text);
  return texts;
}

// null without a target.
Json target_json(const WindowPoint& point) {
  if (!point.target) return nullptr;
  Json json = progress_json(*point.target);
  json["sizes"] = Json::array();
  for (std::size_t k = 0; k < point.size_targets.size(); ++k) {
    const SizeTarget& target = point.size_targets[k];
    Json size{{"extents", point.sizes[k].extents}};
    add_growth(target.before, point.sizes[k], size);
    size["share"] = number_json(target.share);
    size["thermal"] = number_json(target.thermal);
    json["sizes"].push_back(std::move(size));
  }
  return json;
}

Json point_json(const StudyConfig& config, const WindowPoint& point, const TcPointResult& result) {
  Json json;
  json["p"] = point.p;
  json["sizes"] = Json::array();
  for (std::size_t k = 0; k < point.sizes.size(); ++k) {
    json["sizes"].push_back(
        tc_size_json(point.sizes[k], result.averages[k], result.fine[k], config.replicas));
  }
  json["crossings"] = crossings_json(point, result);
  json["tc"] = result.accepted() ? tc_json(result) : Json(nullptr);
  json["status"] = to_string(result.status());
  json["reasons"] = texts_of(result.reasons);
  json["candidate"] = candidate_json(result);
  json["binder_limit"] = binder_json(result);
  json["collapse"] = collapse_json(result);
  json["scaling"] = {{"y", result.exponents.y}, {"w", result.exponents.w}};
  json["binder_expected"] = plain_json(result.binder_expected);
  json["tc_exact"] = plain_json(result.exact);
  json["shift"] = printed_json(result.shift);
  json["target"] = target_json(point);
  json["warnings"] = result.warnings;
  return json;
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

// The results of the tree condition; null if they are missing or it is not applicable.
const TreeResult* tree_of(const TcReport& report) {
  return report.tree != nullptr && report.tree->why_none.empty() ? report.tree : nullptr;
}

// Cells of point `k` for the table and tc.csv. In the table, a point without Tc has no numbers.
Cells row_of(const TcReport& report, std::size_t k) {
  const WindowPoint& point = report.points[k];
  const TcPointResult& result = report.crossings.points[k];
  const TreeResult* tree = tree_of(report);
  const bool known = result.accepted();
  const auto binder = result.binder.ok ? std::optional(result.binder.value) : std::nullopt;
  Cell limit = value_cell("binder_limit", "U at Tc", binder);
  limit.text = printed(known && binder ? std::optional(result.binder.total()) : std::nullopt);
  // If the study has no crossings, the status and the reasons are those of the tree condition.
  const bool alone = tree != nullptr && tree->alone;
  return tc_row(point.p, "Tc", result.tc, known, point.sizes,
                alone ? tree->points[k].status() : result.status(),
                alone ? tree_reasons(tree->points[k]) : texts_of(result.reasons),
                {value_cell("shift", "Tc - Tc(0)", result.shift),
                 {"exact", "", plain_json(result.exact)},
                 limit,
                 text_cell("(theory)", known && result.binder_expected
                                           ? fmt::format("{:.4f}", *result.binder_expected)
                                           : "-")});
}

std::string collapse_text(const std::vector<TcPointResult>& points) {
  std::vector<std::vector<std::string>> rows;
  for (const TcPointResult& result : points) {
    if (!result.collapse) continue;
    const Collapse& found = *result.collapse;
    rows.push_back({fmt::format("p = {}", result.p), fmt::format("S = {:.2g}", found.quality),
                    result.collapse_against.empty()
                        ? fmt::format("Tc = {}, y = {} (theory {:.4g})", printed(found.tc),
                                      printed(found.y), result.exponents.y)
                        : result.collapse_against});
  }
  if (rows.empty()) return "";
  return "\nData collapse of U on (T - Tc) N^y, a rough check beside the Tc above. It neglects "
         "corrections\n"
         "to scaling, and often fails for small sizes. S: mean squared distance from one curve in "
         "units of\nthe errors, near 1 if the sizes are large enough.\n" +
         aligned_table(rows);
}

// Lists the sizes that were extended: "64x64 +120 graphs, 20 -> 40 measurements; ..".
std::string added_text(const WindowPoint& point) {
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < point.size_targets.size(); ++k) {
    const SizeBefore& before = point.size_targets[k].before;
    const std::size_t graphs = point.sizes[k].samples.graphs.size();
    const std::uint64_t measure = point.sizes[k].plan.measure;
    std::string part;
    if (graphs > before.graphs) part = fmt::format("+{} graphs", graphs - before.graphs);
    if (measure > before.measurements && before.measurements > 0) {
      part += fmt::format("{}{} -> {} measurements", part.empty() ? "" : ", ", before.measurements,
                          measure);
    }
    if (!part.empty()) parts.push_back(size_text(point.sizes[k]) + " " + part);
  }
  return parts.empty() ? "nothing was added" : fmt::format("{}", fmt::join(parts, "; "));
}

// Outcome of the requested relative error for each p.
std::string target_text(const TcReport& report) {
  if (!report.config.target_error) return "";
  std::vector<std::vector<std::string>> rows;
  for (const WindowPoint& point : report.points) {
    if (!point.target) continue;  // stopped before the first round of the target
    const TargetProgress& target = *point.target;
    std::string verdict = target.done ? "reached" : "not yet";
    if (!target.stopped.empty()) verdict = "MISSED: " + target.stopped;
    rows.push_back({fmt::format("p = {}", point.p),
                    std::isfinite(target.reached) ? fmt::format("{:.1e}", target.reached) : "-",
                    verdict,
                    fmt::format("{}: {}", count_text(target.rounds, "round"), added_text(point))});
  }
  if (rows.empty()) return "";
  return fmt::format("\nTarget: a relative error of {} for every Tc(p).\n",
                     *report.config.target_error) +
         aligned_table(rows);
}

std::string crossings_text(const TcReport& report) {
  std::vector<Cells> rows;
  std::string reasons, known, warnings;
  std::vector<double> without;
  for (std::size_t k = 0; k < report.points.size(); ++k) {
    const TcPointResult& result = report.crossings.points[k];
    rows.push_back(row_of(report, k));
    for (const Reason& reason : result.reasons) {  // why there is no Tc, and what to do
      reasons += fmt::format("p = {}: no Tc ({}): {}\n", result.p, to_string(result.status()),
                             reason.text);
    }
    for (const std::string& warning : result.warnings) {
      warnings += fmt::format("warning: p = {}: {}\n", result.p, warning);
    }
    const auto tc = result.accepted_tc();
    if (!tc) without.push_back(result.p);
    if (!tc || !result.exact) continue;
    known += fmt::format("\nThe {}.\n",
                         beside_exact(fmt::format("Tc({})", result.p), *result.exact, *tc));
  }
  std::string out =
      fmt::format("\n{}: critical temperatures, {}D, rule {}{}\n\n{}", report.config.name,
                  report.config.dim(), rule_text(to_string(report.config.rule())),
                  model_title(report.config.model), cells_table(rows));
  if (!reasons.empty()) out += "\n" + reasons;
  out += known + collapse_text(report.crossings.points);
  if (report.crossings.local.p.size() > 0) {
    out += "\nTc(p) - Tc(0) grows locally as p^x:\n" +
           local_exponents_table(report.crossings.shift, report.crossings.local);
  }
  out += target_text(report);
  out += fmt::format(
      "\n{}: one standard error, by jackknife over graphs, including\nwhat the extrapolation over "
      "sizes neglects. J = k_B = 1.\n",
      kErrorLegend);
  out += warnings;
  if (without.empty()) return out;
  return out + fmt::format("{} of {} p without Tc: {} (reasons above)\n", without.size(),
                           rows.size(), fmt::join(without, ", "));
}

Json tc_summary(const TcReport& report) {
  const TcResult& result = report.crossings;
  Json json = summary_head(report.config, "tc");
  json["points"] = Json::array();
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    json["points"].push_back(point_json(report.config, report.points[i], result.points[i]));
  }
  json["tc0"] = nullptr;
  if (!result.tc0_source.empty()) {
    json["tc0"] = printed_json(result.tc0);
    json["tc0"]["source"] = result.tc0_source;
    json["tc0"]["measured"] = printed_json(result.measured_tc0);
  }
  json["local_exponents"] = local_exponents_json(result.shift, result.local);
  json["power_laws"] = power_laws_json(result);
  json["warnings"] = Json::array();
  if (report.tree != nullptr) add_tree(*report.tree, json);
  return json;
}

std::string tc_csv(const TcReport& report) {
  std::string out = csv_header(report.config);
  for (std::size_t k = 0; k < report.points.size(); ++k) {
    out += csv_rows(report.config, report.points[k], report.crossings.points[k].averages);
  }
  return out;
}

std::string tc_points_csv(const TcReport& report) {
  std::vector<Cells> rows;
  for (std::size_t k = 0; k < report.points.size(); ++k) {
    Cells& row = rows.emplace_back(row_of(report, k));
    if (const TreeResult* tree = tree_of(report)) {
      const Cells more = tree_cells(*tree, report.crossings, k);
      row.insert(row.end(), more.begin(), more.end());
    }
  }
  return cells_csv(rows);
}

std::string tc_text(const TcReport& report) {
  const bool alone = report.tree != nullptr && report.tree->alone;
  return (alone ? "" : crossings_text(report)) +
         (report.tree == nullptr ? "" : tree_text(report.config, *report.tree, report.crossings));
}

}  // namespace

StudyOutcome tc_outcome(const TcReport& report, const std::vector<TreePoint>& tree) {
  return {tc_summary(report), tc_text(report), tc_csv(report), tc_points_csv(report),
          tc_resamples(report.config, report.points, report.crossings, tree)};
}

}  // namespace rewise

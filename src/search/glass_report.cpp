#include "src/search/glass_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/table.hpp"
#include "src/search/summary_parts.hpp"
#include "src/search/sweep_report.hpp"
#include "src/study/record.hpp"

namespace rewise {
namespace {

constexpr std::size_t kMostRows = 60;  // of the table of crossings

Cells glass_cells(const SweepPoint& point) {
  const GlassTc& glass = *point.glass;
  const auto tc = glass.accepted();
  const auto known = [&tc](double x) { return tc ? number_json(x) : Json(nullptr); };
  const LinearFit fit = tc ? glass.tc.fits[glass.tc.chosen].fit : LinearFit{};
  const SizeData &first = point.sizes.front(), &last = point.sizes.back();
  std::string all = fmt::format("{}", fmt::join(glass.reasons, "; "));
  std::replace(all.begin(), all.end(), '"', '\'');
  return {
      {"p", "p", point.p},
      {"tc", "T_SG", known(glass.tc.value.value), printed(tc)},
      {"error", "", known(glass.tc.value.error)},
      {"systematic", "", known(glass.tc.systematic)},
      {"total_error", "", known(glass.tc.total().error)},
      {"relative_error", "rel. error", tc ? Json(number_text(tc->error / tc->value)) : Json(),
       relative_error(tc)},
      {"chi2", "chi2/dof", known(fit.chi2), tc ? fmt::format("{:.1f}/{}", fit.chi2, fit.dof) : "-"},
      {"dof", "", known(fit.dof)},
      {"smallest", "", size_text(first)},
      {"largest", "", size_text(last)},
      text_cell("sizes", fmt::format("{}..{}", size_text(first), size_text(last))),
      text_cell("graphs",
                fmt::format("{}..{}", first.samples.graphs.size(), last.samples.graphs.size())),
      {"status", "", tc ? "ok" : "no-result"},
      {"reasons", "", all.empty() ? all : fmt::format("\"{}\"", all)}};
}

Json target_json(const GlassTc& glass) {
  if (!glass.target) return nullptr;
  const GlassTarget& target = *glass.target;
  return {{"asked", target.asked},
          {"error", number_json(target.reached)},
          {"reached", target.stopped.empty() && target.reached <= target.asked},
          {"stopped", target.stopped.empty() ? Json(nullptr) : Json(target.stopped)},
          {"rounds", target.rounds}};
}

}  // namespace

Json glass_summary(const StudyConfig& config, const std::vector<SweepPoint>& points) {
  Json json = sweep_summary(config, points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const GlassTc& glass = *points[i].glass;
    Json& point = json["points"][i];
    const bool known = glass.reasons.empty();
    point["order"] = "spin-glass";
    point["status"] = known ? "ok" : "no-result";
    point["reasons"] = glass.reasons;
    point["tc"] = known ? printed_json(glass.tc.value, glass.tc.systematic) : Json(nullptr);
    if (known) {
      const CrossingFit& chosen = glass.tc.fits[glass.tc.chosen];
      point["tc"]["chi2"] = chosen.fit.chi2;
      point["tc"]["dof"] = chosen.fit.dof;
      point["tc"]["smallest"] = chosen.smallest;
    }
    point["target"] = target_json(glass);
  }
  return json;
}

std::string glass_csv(const std::vector<SweepPoint>& points) {
  std::vector<Cells> rows;
  for (const SweepPoint& point : points) rows.push_back(glass_cells(point));
  return cells_csv(rows);
}

std::string glass_text(const StudyConfig& config, const std::vector<SweepPoint>& points) {
  std::vector<Cells> rows;
  std::string below;
  for (const SweepPoint& point : points) {
    rows.push_back(glass_cells(point));
    for (const std::string& reason : point.glass->reasons) {
      below += fmt::format("p = {}: no T_SG: {}\n", point.p, reason);
    }
    if (!point.glass->target) continue;
    const GlassTarget& target = *point.glass->target;
    if (!target.stopped.empty() && point.glass->reasons.empty()) {
      below += fmt::format("p = {}: target {} MISSED: {}\n", point.p, target.asked, target.stopped);
    }
  }
  return fmt::format("\n{}: spin-glass temperature by crossings of overlaps\n\n", config.name) +
         cells_table(rows) + (below.empty() ? "" : "\n" + below) +
         overlap_crossings_text(points, kMostRows) +
         "\n2.3772(4) means 2.3772 +- 0.0004: one standard error, by jackknife over graphs, "
         "including\nwhat the extrapolation neglects. J = k_B = 1. Averages at each temperature: "
         "summary.csv.\n" +
         sweep_warnings(points);
}

}  // namespace rewise

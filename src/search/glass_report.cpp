#include "src/search/glass_report.hpp"

#include <fmt/format.h>

#include "src/results/cells.hpp"
#include "src/search/summary_parts.hpp"
#include "src/search/sweep_report.hpp"

namespace rewise {
namespace {

constexpr std::size_t kMaxRows = 60;  // of the table of crossings

Cells glass_cells(const SweepPoint& point) {
  const GlassTc& glass = *point.glass;
  const bool known = glass.reasons.empty();
  return tc_row(point.p, "T_SG", glass.tc, known, point.sizes, known ? "ok" : "no-result",
                glass.reasons, {});
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
    point["target"] = glass.target ? progress_json(*glass.target) : Json(nullptr);
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
    const TargetProgress& target = *point.glass->target;
    if (!target.stopped.empty() && point.glass->reasons.empty()) {
      below +=
          fmt::format("p = {}: target {} MISSED: {}\n", point.p, target.requested, target.stopped);
    }
  }
  return fmt::format("\n{}: spin-glass temperature by crossings of overlaps\n\n", config.name) +
         cells_table(rows) + (below.empty() ? "" : "\n" + below) +
         overlap_crossings_text(points, true, kMaxRows) +
         "\n2.3772(4) means 2.3772 +- 0.0004: one standard error, by jackknife over graphs, "
         "including\nwhat the extrapolation neglects. J = k_B = 1. Averages at each temperature: "
         "summary.csv.\n" +
         sweep_warnings(points);
}

}  // namespace rewise

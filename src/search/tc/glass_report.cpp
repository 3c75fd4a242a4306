#include "src/search/tc/glass_report.hpp"

#include <fmt/format.h>

#include "src/results/cells.hpp"
#include "src/search/summary_parts.hpp"
#include "src/search/sweep/sweep_report.hpp"
#include "src/search/tc/glass_criterion.hpp"

namespace rewise {
namespace {

Cells glass_cells(const SweepResult& point, const GlassTc& glass) {
  const bool known = glass.reasons.empty();
  return tc_row(point.p, "T_SG", glass.tc, known, point.sizes, glass.status(), glass.reasons, {});
}

// Adds T_SG to a point of the summary of a sweep.
void add_glass(const SweepResult& point, const GlassTc& glass, Json& json) {
  const bool known = glass.reasons.empty();
  json["order"] = "spin-glass";
  json["status"] = to_string(glass.status());
  json["reasons"] = glass.reasons;
  json["tc"] = known ? printed_json(TwoErrors{glass.tc.value, glass.tc.systematic}) : Json(nullptr);
  if (known) {
    const CrossingFit& chosen = glass.tc.fits[glass.tc.chosen];
    json["tc"]["chi2"] = chosen.fit.chi2;
    json["tc"]["dof"] = chosen.fit.dof;
    json["tc"]["smallest"] = chosen.smallest;
  }
  json["target"] = point.target ? progress_json(*point.target) : Json(nullptr);
}

std::string glass_text(const StudyConfig& config, const std::vector<SweepResult>& points,
                       const std::vector<GlassTc>& found) {
  std::vector<Cells> rows;
  std::string below;
  for (std::size_t k = 0; k < points.size(); ++k) {
    const double p = points[k].p;
    rows.push_back(glass_cells(points[k], found[k]));
    for (const std::string& reason : found[k].reasons) {
      below += fmt::format("p = {}: no T_SG: {}\n", p, reason);
    }
    const auto& target = points[k].target;
    if (target && !target->stopped.empty() && found[k].reasons.empty()) {
      below += fmt::format("p = {}: target {} MISSED: {}\n", p, target->requested, target->stopped);
    }
  }
  return fmt::format("\n{}: spin-glass temperature by crossings of overlaps\n\n", config.name) +
         cells_table(rows) + (below.empty() ? "" : "\n" + below) +
         overlap_crossings_text(points, true) +
         fmt::format(
             "\n{}: one standard error, by jackknife over graphs, including\nwhat the "
             "extrapolation neglects. J = k_B = 1. Averages at each temperature: summary.csv.\n",
             kErrorLegend) +
         sweep_warnings(points);
}

}  // namespace

StudyOutcome glass_outcome(const StudyConfig& config, std::vector<SweepPoint> data) {
  const std::vector<SweepResult> points = analyse_sweep(config, std::move(data));
  StudyOutcome outcome = sweep_files(config, points);
  std::vector<GlassTc> found;
  std::vector<Cells> rows;
  for (std::size_t k = 0; k < points.size(); ++k) {
    found.push_back(locate_glass(points[k].p, points[k].sizes, points[k].crossings));
    rows.push_back(glass_cells(points[k], found[k]));
    add_glass(points[k], found[k], outcome.summary["points"][k]);
  }
  outcome.text = glass_text(config, points, found);
  outcome.tc_csv = cells_csv(rows);
  return outcome;
}

}  // namespace rewise

// `tc` for Potts models whose transition may be of first order (peaks.hpp): computes the
// temperature of the transition, its order and its latent heat from the graphs of every size, and
// the tables.
//
// The temperatures of the largest chi and of equal weights converge to the transition. Its order is
// measured, or known exactly (square lattice, p = 0).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/scaling/peaks.hpp"
#include "src/results/json_output.hpp"
#include "src/search/size_curves.hpp"
#include "src/search/tc_search.hpp"

namespace rewise {

// One p.
struct PeaksResult {
  double p = 0;
  std::vector<SizeData> sizes;                       // ascending in sites
  std::vector<SizeCurves> simulated;                 // [size]
  std::vector<JackknifeCurve> heat, susceptibility;  // [size], reweighted
  std::vector<HotColdTest> hot_cold;                 // [size]
  std::vector<SizePeaks> peaks;                      // [size]
  PottsTransition transition;
  std::string status = "ok";  // see summary.json
  // Temperature, latent heat (0 at second order) and order, if known exactly.
  std::optional<double> exact, exact_latent;
  std::optional<Order> exact_order;
  std::optional<Value> shift;  // from p = 0
  std::vector<std::string> warnings;
};

// Analyses what search_tc() measured (tc_search.hpp), one point per p.
std::vector<PeaksResult> peaks_of(const StudyConfig& config, std::vector<TcData> data);

Json peaks_summary(const StudyConfig& config, const std::vector<PeaksResult>& points);
// summary.csv, and tc.csv with a row per p.
std::string peaks_csv(const StudyConfig& config, const std::vector<PeaksResult>& points);
std::string peaks_points_csv(const std::vector<PeaksResult>& points);
// Tables for standard output.
std::string peaks_text(const StudyConfig& config, const std::vector<PeaksResult>& points);

}  // namespace rewise

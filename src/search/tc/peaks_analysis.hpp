// Analysis of `tc` for Potts models whose transition may be of first order (peaks_criterion.cpp):
// the temperature of the transition, its order and its latent heat from the graphs of every size.
// Does not access files; peaks_report prints the results.
//
// The temperatures of the largest chi and of equal weights converge to the transition. Its order is
// measured, or known exactly (square lattice, p = 0).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/scaling/peaks.hpp"
#include "src/search/tc/window_data.hpp"
#include "src/search/tc_value.hpp"

namespace rewise {

// One p.
struct PeaksResult : WindowPoint {
  std::vector<SizeAverages> averages = {};                     // [size]
  std::vector<JackknifeCurve> heat = {}, susceptibility = {};  // [size], reweighted
  std::vector<SizePeaks> peaks = {};                           // [size]
  PottsTransition transition = {};
  TcStatus status = TcStatus::ok;
  // Temperature, latent heat (0 at second order) and order, if known exactly.
  std::optional<double> exact = {}, exact_latent = {};
  std::optional<Order> exact_order = {};
  std::optional<Value> shift = {};  // from p = 0
};

// Whether a size is used for the transition.
inline bool is_used(const SizePeaks& size) { return size.usable && size.outside <= kMaxOutside; }
inline TwoErrors temperature_of(const PottsTransition& found) {
  return {found.temperature, found.systematic};
}

std::vector<PeaksResult> analyse_peaks(const StudyConfig& config, std::vector<WindowPoint> data);

}  // namespace rewise

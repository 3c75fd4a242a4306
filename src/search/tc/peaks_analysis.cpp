#include "src/search/tc/peaks_analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/search/known_tc.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

constexpr double kMinShortcuts = 5;  // p N of the largest size

// Exact results for the square lattice without shortcuts (Baxter, J. Phys. C 6, L445 (1973);
// Duminil-Copin, Sidoravicius & Tassion, Commun. Math. Phys. 349, 47 (2017)).
void take_exact(const StudyConfig& config, PeaksResult& point) {
  if (point.p != 0) return;
  point.exact = potts_tc(config.dim(), 0, config.model.q);
  if (!point.exact) return;
  point.exact_latent = square_latent_heat(config.model.q);
  point.exact_order = config.model.q > 4 ? Order::first : Order::second;
}

// A rewired lattice with few shortcuts behaves like the regular one, and the temperatures of its
// peaks converge to the regular transition: q = 3, p = 0.01, up to 16 x 16 sites.
std::string lack_of_shortcuts(const StudyConfig& config, const PeaksResult& point) {
  double largest = 0;
  for (const SizePeaks& size : point.peaks) {
    if (is_used(size)) largest = std::max(largest, size.sites);
  }
  if (point.p == 0 || point.p * largest >= kMinShortcuts) return "";
  const double edge = std::pow(kMinShortcuts / point.p, 1.0 / config.dim());
  return fmt::format(
      "the largest size in use has p N = {:.2g}: with so few shortcuts it still behaves as the "
      "regular lattice; sizes with p N >= {:.0f} are needed (L >= {:.0f})",
      point.p * largest, kMinShortcuts, 2 * std::ceil(edge / 2));
}

PeaksResult analyse(const StudyConfig& config, WindowPoint&& data) {
  PeaksResult point{std::move(data)};
  take_exact(config, point);
  for (std::size_t k = 0; k < point.sizes.size(); ++k) {
    const SizeData& size = point.sizes[k];
    const auto sample = static_cast<int>(k);
    point.averages.push_back({simulated_curves(size), compare_halves(size)});
    if (std::string line = equilibrium_warning(config, size); !line.empty()) {
      point.warnings.push_back(std::move(line));
    }
    point.heat.push_back(fine_curve(sample, size.samples, specific_heat));
    point.susceptibility.push_back(fine_curve(sample, size.samples, susceptibility));
    std::vector<GraphPeaks> graphs;
    for (const GraphSample& graph : size.samples.graphs) graphs.push_back(graph.peaks);
    point.peaks.push_back(peaks_of_size(sample, point.heat[k], point.susceptibility[k], graphs,
                                        *size.samples.energies, controls(size.samples)));
    if (const HotColdTest& halves = point.averages[k].hot_cold; !halves.agree) {
      point.peaks[k].usable = false;
      point.warnings.push_back(fmt::format(
          "{}: not in equilibrium, and left out: {}; {} (at a first-order transition, large sizes "
          "do not change between the coexisting phases)",
          size_text(size), differing_starts(halves), equilibrium_cure(config)));
    }
    if (point.peaks[k].outside > kMaxOutside) {
      point.warnings.push_back(fmt::format(
          "{}: left out: {:.0f}% of the graphs have their transition outside the window",
          extents_text(size.extents), 100 * point.peaks[k].outside));
    }
  }
  const bool few = std::any_of(point.sizes.begin(), point.sizes.end(), [](const SizeData& size) {
    return size.samples.graphs.size() < kMinGraphs;
  });
  point.transition = find_transition(few ? std::vector<SizePeaks>{} : point.peaks);
  if (few) {
    point.status = TcStatus::too_few_graphs;
    point.transition.order_reason = "too few graphs";
    point.transition.reasons = {
        fmt::format("fewer than {} graphs of a size do not determine the spread for an error; "
                    "raise lattice.graphs",
                    kMinGraphs)};
  } else if (const std::string lack = lack_of_shortcuts(config, point);
             point.transition.found && !lack.empty()) {
    point.status = TcStatus::not_converged;
    point.transition.found = false;
    point.transition.reasons = {lack};
  } else if (!point.transition.found) {
    const bool rests = std::all_of(point.peaks.begin(), point.peaks.end(),
                                   [](const SizePeaks& size) { return size.usable; });
    point.status = rests ? TcStatus::not_converged : TcStatus::not_equilibrated;
  } else if (point.transition.fits[point.transition.chosen].dof == 0) {
    point.warnings.emplace_back(
        "only two sizes can be used, which do not test the extrapolation; its error is taken from "
        "other studies; add a size that reaches equilibrium");
  }
  return point;
}

void add_shifts(const StudyConfig& config, std::vector<PeaksResult>& points) {
  std::optional<Value> zero;
  for (const PeaksResult& point : points) {
    if (point.p == 0 && point.transition.found) zero = temperature_of(point.transition).total();
  }
  if (const auto exact = potts_tc(config.dim(), 0, config.model.q)) zero = Value{*exact, 0};
  if (!zero) return;
  for (PeaksResult& point : points) {
    if (point.p == 0 || !point.transition.found) continue;
    const Value here = temperature_of(point.transition).total();
    point.shift = Value{here.value - zero->value, std::hypot(here.error, zero->error)};
  }
}

}  // namespace

std::vector<PeaksResult> analyse_peaks(const StudyConfig& config, std::vector<WindowPoint> data) {
  std::vector<PeaksResult> points;
  for (WindowPoint& one : data) points.push_back(analyse(config, std::move(one)));
  add_shifts(config, points);
  return points;
}

}  // namespace rewise

// Criterion of `tc` by peaks: windows that contain the peaks of C and chi of a size and the
// temperatures at which the phases of a graph have equal weight (analysis/scaling/peaks.hpp).
//
// The coarse scan uses the smallest size; the maximum of C is the first estimate. A window moves
// until the peaks are well inside. It narrows to three half widths of the peak of C, so that its
// temperatures cover both phases.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/round_to_digits.hpp"
#include "src/search/tc/window_criterion.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

constexpr int kMaxPeakMoves = 8;  // of a window
// Number of measurements for "auto". Histograms need more of them than averages.
constexpr std::uint64_t kMeasure = 100;
// Half width of a narrowed window, in half widths of the peak of C.
constexpr double kHalfWidths = 3;

double bonds_per_site(const StudyConfig& config, double p) {
  return config.dim() * (base_rule(config.rule()) == Rule::add ? 1 + 2 * p : 1);
}

// Positions that a window must contain.
struct PeakPositions {
  double low = 0, high = 0;  // of the peaks of C and chi and the mean of equal weights
  double half_width = std::numeric_limits<double>::quiet_NaN();  // of the peak of C at half height;
                                                                 // NaN: C stays above half
  double outside = 0;  // fraction of graphs whose temperatures lie beyond
};

PeakPositions peak_positions(const SizeSamples& all) {
  SizeSamples samples = all;
  samples.graphs.resize(std::min<std::size_t>(all.graphs.size(), kPilotGraphs));
  const JackknifeCurve heat = fine_curve(0, samples, specific_heat),
                       chi = fine_curve(0, samples, susceptibility);
  const double heat_peak = find_peak(heat).temperature.value,
               chi_peak = find_peak(chi).temperature.value;
  PeakPositions found;
  double weights = 0;
  for (const GraphSample& graph : samples.graphs) {
    weights += graph.peaks.weights_temperature / static_cast<double>(samples.graphs.size());
    found.outside += graph.peaks.outside ? 1.0 / static_cast<double>(samples.graphs.size()) : 0.0;
  }
  found.low = std::min({heat_peak, chi_peak, weights});
  found.high = std::max({heat_peak, chi_peak, weights});
  Eigen::Index top = 0;
  const double half = heat.value.maxCoeff(&top) / 2;
  for (Eigen::Index k = 0; k < heat.value.size(); ++k) {
    if (heat.value[k] >= half) continue;
    const double distance = std::abs(heat.temperature[k] - heat_peak);
    if (!(distance >= found.half_width)) found.half_width = distance;
  }
  return found;
}

class PeaksCriterion final : public WindowCriterion {
 public:
  explicit PeaksCriterion(const StudyConfig& config)
      : WindowCriterion(config, {.sizes = 1,
                                 .most_moves = kMaxPeakMoves,
                                 .grid_points = 61,
                                 .measurements = config.measure.value_or(kMeasure)}) {}

  // Temperature of the maximum of C, averaged over graphs.
  ScanDecision locate(std::span<const ScanResult> sizes) const override {
    const ScanResult& scan = sizes.front();
    const double sites = site_count(config_.sizes.front());
    ScanDecision decision;
    double highest = -1;
    for (std::size_t t = 0; t < scan.temperatures.size(); ++t) {
      double heat = 0;
      for (const GraphSample& graph : scan.graphs) {
        const Moments m = graph.simulated.row(static_cast<Eigen::Index>(t)).transpose();
        heat += specific_heat(m, sites, scan.temperatures[t]);
      }
      if (heat <= highest) continue;
      highest = heat;
      decision.centre = scan.temperatures[t];
    }
    return decision;
  }

  // The width is at most that of the previous size, whose window may have narrowed, scaled by
  // N^(-1/2).
  TcWindow first_window(const WindowPoint& point, std::size_t size, double sites,
                        const TcWindow& last) const override {
    const double usual = half_window(config_, last.centre, point.p, sites);
    const double before =
        size == 0 ? usual
                  : last.half_width * std::sqrt(point.sizes[size - 1].samples.sites / sites);
    return {last.centre, round_to_digits(std::min(usual, before), 2), false};
  }

  WindowDecision decide(const WindowPoint& point, std::size_t size, const TcWindow& window,
                        int) const override {
    const SizeSamples& samples = point.sizes[size].samples;
    const PeakPositions found = peak_positions(samples);
    const double middle = 0.5 * (found.low + found.high), reach = 0.5 * (found.high - found.low);
    double half = window.half_width;
    const double most = std::max(half_window(config_, window.centre, point.p, samples.sites), half);
    const bool off = std::abs(middle - window.centre) + reach > kInside * half;
    const double narrow = std::max(kHalfWidths * found.half_width, 1.5 * reach / kInside);
    if (off || found.outside > kMaxOutside) {
      half = round_to_digits(std::min(most, std::max(half, 1.5 * reach / kInside)), 2);
      if (!off) half = round_to_digits(std::min(std::max(most, half), 1.5 * half), 2);
    } else if (narrow < 0.6 * half) {
      half = round_to_digits(narrow, 2);
    }
    if (!off && half == window.half_width) return {true, {middle, half, false}};
    const double step = 1.2 * window.half_width;
    return {false, {window.centre + std::clamp(middle - window.centre, -step, step), half, false}};
  }

  void give_up(WindowPoint& point, const std::string& size) const override {
    point.warnings.push_back(
        fmt::format("{}: no temperature window was found that has the peaks well inside", size));
  }

  void prepare(SizeData& size, double p) const override {
    const double low = size.plan.temperatures.front(), high = size.plan.temperatures.back();
    size.samples.energies = energy_grid(size.samples.sites, bonds_per_site(config_, p),
                                        0.5 * (low + high), config_.model.q);
  }

  // A histogram needs many measurements, even if they are correlated. They use the cycles of a
  // smaller number of uncorrelated measurements (coexisting phases have a long correlation time).
  void adjust(SizePlan& plan, double) const override {
    if (config_.measure) return;
    if (!config_.every) plan.every = (plan.every * plan.measure + kMeasure - 1) / kMeasure;
    plan.measure = kMeasure;
  }
};

}  // namespace

std::unique_ptr<WindowCriterion> peaks_criterion(const StudyConfig& config) {
  return std::make_unique<PeaksCriterion>(config);
}

}  // namespace rewise

// Criterion of `tc` by crossings: determines the windows of consecutive sizes, and the curves that
// cross.
//
// The coarse scan uses the two smallest sizes; the crossing of their U is the first estimate. The
// window of each further size lies around its crossing with the previous size. At p = 0 it must
// contain the crossing of U; at p > 0, the crossings of U and N^x m^2 and, if possible, the
// temperature where U of the larger size has its mean-field limit. After the last move, it is
// enough if it contains the mean of both crossings.
#include "src/search/tc/crossings_criterion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/scaling/crossing.hpp"
#include "analysis/scaling/extrapolation.hpp"
#include "src/search/tc/window_criterion.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

constexpr int kMaxMoves = 6;         // of a window
constexpr int kMovesForLimit = 3;    // first moves, which include the mean-field limit of U
constexpr double kWideFactor = 1.7;  // factor for windows whose two crossings lie far apart

struct WindowShift {
  double shift = 0;      // shift of the centre
  bool settled = false;  // the crossing is well inside; the window may stay
  bool wider = false;    // the window is too narrow for the crossings of both observables
};

MomentFunction crossing_function(const SizeSamples& samples, CrossingObservable observable) {
  if (observable == kBinder) return binder_at;
  return [power = samples.m2_power](const Moments& m, double sites, double) {
    return std::pow(sites, power) * m(kM2);
  };
}

JackknifeCurve pilot_curve(int sample, const SizeSamples& samples, CrossingObservable observable) {
  SizeSamples first = samples;
  first.graphs.resize(std::min<std::size_t>(samples.graphs.size(), kPilotGraphs));
  return observable_curve(sample, first, observable);
}

// Side on which the crossing of an observable lies if the window does not contain it: +1 above, -1
// below, 0 unknown, because the windows do not overlap.
double side_of_crossing(const SizeSamples& small, const SizeSamples& large,
                        CrossingObservable observable) {
  const JackknifeCurve a = pilot_curve(0, small, observable), b = pilot_curve(1, large, observable);
  const double low = std::max(a.temperature(0), b.temperature(0));
  const double high =
      std::min(a.temperature(a.temperature.size() - 1), b.temperature(b.temperature.size() - 1));
  if (low >= high) return 0;
  const double middle = 0.5 * (low + high);  // the ends have the largest noise
  return interpolate(b.temperature, b.value, middle) > interpolate(a.temperature, a.value, middle)
             ? 1
             : -1;
}

// Shift of a window that contains no crossing, towards the side where the crossing must lie.
double blind_shift(const SizeSamples& small, const SizeSamples& large, double centre,
                   double half_width) {
  const double side = side_of_crossing(small, large, kBinder);
  if (side != 0) return 1.2 * side * half_width;
  const Eigen::ArrayXd& grid = small.grid;
  return 0.5 * (grid(0) + grid(grid.size() - 1)) - centre;
}

// Temperature where U of a size has its mean-field limit; extrapolated linearly beyond the window.
double limit_of_binder(const SizeSamples& samples) {
  const JackknifeCurve curve = pilot_curve(0, samples, kBinder);
  const Crossing found = crossing_with_limit(curve, mean_field_binder());
  if (found.status != CrossingStatus::none) return found.temperature.value;
  const Eigen::Index last = curve.temperature.size() - 1, before = last * 3 / 4;
  const double slope = (curve.value(last) - curve.value(before)) /
                       (curve.temperature(last) - curve.temperature(before));
  return curve.temperature(last) - (curve.value(last) - mean_field_binder()) / slope;
}

// Considers the crossings of both U and N^x m^2, which lie far apart for small sizes. Includes the
// temperature where U of the larger size has its mean-field limit, if this is possible with a half
// width of at most `most_half_width` (0: never).
WindowShift shift_to_both(const SizeSamples& small, const SizeSamples& large, double centre,
                          double half_width, double most_half_width) {
  Crossing crossings[2];
  for (const CrossingObservable o : {kBinder, kScaledM2}) {
    crossings[o] = find_crossing(pilot_curve(0, small, o), pilot_curve(1, large, o), o);
  }
  const auto seen = [&](CrossingObservable o) {
    return crossings[o].status != CrossingStatus::none;
  };
  if (!seen(kBinder) && !seen(kScaledM2)) {
    return {blind_shift(small, large, centre, half_width), false, false};
  }
  if (!seen(kBinder) || !seen(kScaledM2)) {
    const CrossingObservable known = seen(kBinder) ? kBinder : kScaledM2;
    const double at = crossings[known].temperature.value - centre;
    const double side = side_of_crossing(small, large, known == kBinder ? kScaledM2 : kBinder);
    return {at + 0.5 * side * half_width, false, true};
  }
  constexpr double inside = 0.75;
  const double u = crossings[kBinder].temperature.value;
  const double m2 = crossings[kScaledM2].temperature.value;
  double low = std::min(u, m2), high = std::max(u, m2);
  const double limit = most_half_width > 0 ? limit_of_binder(large) : high;
  if (limit > high && 0.5 * (limit - low) <= inside * most_half_width) high = limit;
  const double shift = 0.5 * (low + high) - centre, reach = 0.5 * (high - low);
  return {shift, std::abs(shift) + reach <= inside * half_width, reach > 0.5 * half_width};
}

// Uses the mean of the crossings of both observables (p = 0: of U only), or of the stable ones if
// there are any.
WindowShift shift_to_mean(double p, const SizeSamples& small, const SizeSamples& large,
                          double centre, double half_width) {
  double sum[2] = {0, 0};  // of stable crossings, of all crossings
  int count[2] = {0, 0};
  for (const CrossingObservable observable : {kBinder, kScaledM2}) {
    if (observable != kBinder && p <= 0) break;
    const Crossing crossing = find_crossing(pilot_curve(0, small, observable),
                                            pilot_curve(1, large, observable), observable);
    if (crossing.status == CrossingStatus::none) continue;
    for (const int kind : {0, 1}) {
      if (kind == 0 && crossing.status != CrossingStatus::found) continue;
      sum[kind] += crossing.temperature.value;
      ++count[kind];
    }
  }
  if (count[1] == 0) return {blind_shift(small, large, centre, half_width), false, false};
  const int kind = count[0] > 0 ? 0 : 1;
  const double shift = sum[kind] / count[kind] - centre;
  return {shift, std::abs(shift) <= kInside * half_width, false};
}

class CrossingsCriterion final : public WindowCriterion {
 public:
  explicit CrossingsCriterion(const StudyConfig& config)
      : WindowCriterion(config, {.sizes = 2,
                                 .adaptive_scan = true,
                                 .windows_stay = true,
                                 .most_moves = kMaxMoves,
                                 .grid_points = 41,
                                 .measurements = 20}) {}

  // False if Tc = 0 (one dimension, p = 0), or if sizes = "auto" and the smallest lattice has fewer
  // than 100 shortcuts.
  bool reaches(double p) const override {
    if (p == 0) return config_.dim() > 1;
    constexpr double shortcuts = 100;
    return !config_.auto_sizes ||
           site_count(config_.sizes.front()) * config_.dim() * p >= shortcuts;
  }

  // Estimate from the crossing of U of the two smallest sizes; without a crossing, the temperature
  // where U of the larger size is closest to 0.4.
  ScanDecision locate(std::span<const ScanResult> sizes) const override {
    const std::vector<double>& temperatures = sizes[0].temperatures;
    const auto count = static_cast<Eigen::Index>(temperatures.size());
    Eigen::ArrayXd x(count), small(count), large(count);
    Eigen::Index steepest = 0;
    for (Eigen::Index t = 0; t < count; ++t) {
      const auto at = static_cast<std::size_t>(t);
      x(t) = temperatures[at];
      small(t) = binder(sizes[0].mean(at));
      large(t) = binder(sizes[1].mean(at));
      if (std::abs(small(t) - 0.4) < std::abs(small(steepest) - 0.4)) steepest = t;
    }
    const auto root = falling_root(x, large - small, x(steepest));
    if (!root) return {x(steepest), false};
    // Far above Tc, both are zero within noise, which crosses as well. At Tc, U of large sizes is
    // 0.27 or more.
    constexpr double least_binder = 0.1;
    Eigen::Index nearest = 0;
    (x - *root).abs().minCoeff(&nearest);
    const bool ordered = std::max(small(nearest), large(nearest)) >= least_binder;
    return {ordered ? *root : x(steepest), ordered};
  }

  TcWindow first_window(const WindowPoint& point, std::size_t, double sites,
                        const TcWindow& last) const override {
    return around(last.centre, false, point.p, sites);
  }

  WindowDecision decide(const WindowPoint& point, std::size_t size, const TcWindow& window,
                        int move) const override {
    const SizeSamples &small = point.sizes[size - 1].samples, &large = point.sizes[size].samples;
    WindowShift wanted;
    if (point.p == 0 || move == kMaxMoves) {
      wanted = shift_to_mean(point.p, small, large, window.centre, window.half_width);
    }
    bool wide = window.wide;
    if (point.p > 0 && !wanted.settled) {
      const bool limit = config_.model.kind == ModelKind::ising && move < kMovesForLimit;
      const double most = limit ? window.half_width * (wide ? 1 : kWideFactor) : 0;
      wanted = shift_to_both(small, large, window.centre, window.half_width, most);
      wide = wide || wanted.wider;
    }
    if (wanted.settled) return {true, {window.centre + wanted.shift, window.half_width, wide}};
    const double most = 1.2 * window.half_width;
    return {false, around(window.centre + std::clamp(wanted.shift, -most, most), wide, point.p,
                          large.sites)};
  }

  // Does not apply to sizes that a target added: the previous size then has all its graphs.
  std::optional<TcWindow> follow(const WindowPoint& point, std::size_t size,
                                 const TcWindow& window) const override {
    const SizeSamples& before = point.sizes[size - 1].samples;
    const double middle = 0.5 * (before.grid(0) + before.grid(before.grid.size() - 1));
    const double half = before.grid(before.grid.size() - 1) - middle;
    const bool covered = std::abs(window.centre - middle) <= kInside * half;
    if (covered || size >= config_.sizes.size()) return std::nullopt;
    return around(window.centre, window.wide, point.p, before.sites);
  }

  void give_up(WindowPoint& point, const std::string& size) const override {
    point.no_window = fmt::format(
        "{}: no temperature window was found that has the crossing well inside; give "
        "sampling.temperatures",
        size);
  }

  void prepare(SizeData& size, double p) const override {
    size.samples.m2_power =
        p > 0 ? kMeanFieldM2Power
              : regular_m2_power(config_.dim(), static_cast<int>(config_.model.q));
    // Studies with all numbers fixed keep the results of versions without these controls.
    size.samples.improved = !config_.measure && config_.model.kind == ModelKind::ising;
  }

  void adjust(SizePlan& plan, double p) const override {
    if (begins_short(config_, p)) plan.measure = first_measurements(config_.replicas);
  }

 private:
  TcWindow around(double centre, bool wide, double p, double sites) const {
    return {centre, half_window(config_, centre, p, sites) * (wide ? kWideFactor : 1), wide};
  }
};

}  // namespace

std::unique_ptr<WindowCriterion> crossings_criterion(const StudyConfig& config) {
  return std::make_unique<CrossingsCriterion>(config);
}

JackknifeCurve observable_curve(int sample, const SizeSamples& samples,
                                CrossingObservable observable) {
  return fine_curve(sample, samples, crossing_function(samples, observable));
}

JackknifeCurve thermal_curve(int sample, const SizeSamples& samples,
                             CrossingObservable observable) {
  return changed_curve(sample, fine_grid_table(samples), thermal_noise_table(samples),
                       crossing_function(samples, observable), controls(samples));
}

JackknifeCurve raised_binder(JackknifeCurve curve, const SizeData& size, bool thermal) {
  const std::vector<double>& temperatures = size.plan.temperatures;
  const auto graphs = static_cast<Eigen::Index>(size.samples.graphs.size());
  const auto count = static_cast<Eigen::Index>(temperatures.size());
  Eigen::MatrixXd m2(graphs, count), pair(graphs, count);  // [graph, T]
  for (Eigen::Index g = 0; g < graphs; ++g) {
    const GraphSample& graph = size.samples.graphs[static_cast<std::size_t>(g)];
    m2.row(g) = graph.simulated.col(kM2).matrix().transpose();
    pair.row(g) = graph.m2_pair.matrix().transpose();
  }
  // [fine temperature]; interpolated linearly between the simulated ones.
  const auto raise = [&](const Eigen::RowVectorXd& mean_m2, const Eigen::RowVectorXd& mean_pair) {
    const Eigen::ArrayXd spread = (mean_pair.array() / mean_m2.array().square() - 1).transpose();
    Eigen::RowVectorXd raised(curve.temperature.size());
    Eigen::Index left = 0;
    for (Eigen::Index k = 0; k < raised.size(); ++k) {
      const auto at = [&](Eigen::Index t) { return temperatures[static_cast<std::size_t>(t)]; };
      while (left + 2 < count && at(left + 1) < curve.temperature(k)) ++left;
      const double share = (curve.temperature(k) - at(left)) / (at(left + 1) - at(left));
      raised(k) = binder_lowered_by_spread((1 - share) * spread(left) + share * spread(left + 1));
    }
    return raised;
  };
  const auto n = static_cast<double>(graphs);
  const Eigen::RowVectorXd mean_m2 = m2.colwise().mean(), mean_pair = pair.colwise().mean();
  const Eigen::RowVectorXd raised = raise(mean_m2, mean_pair);
  curve.value += raised.transpose().array();
  for (Eigen::Index g = 0; g < graphs; ++g) {
    curve.left_out.row(g) += (thermal ? raised
                                      : raise((n * mean_m2 - m2.row(g)) / (n - 1),
                                              (n * mean_pair - pair.row(g)) / (n - 1)))
                                 .array();
  }
  return curve;
}

}  // namespace rewise

#include "src/search/tc/crossings_analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "analysis/scaling/regular_lattice.hpp"
#include "src/base/all_cores.hpp"
#include "src/search/known_tc.hpp"
#include "src/search/size_plan.hpp"
#include "src/search/tc/crossings_criterion.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

constexpr double kMaxBinder = 2.0 / 3;  // U in the ordered phase

std::optional<double> known_tc(const StudyConfig& config, double p) {
  if (config.model.is_potts()) return potts_tc(config.dim(), p, config.model.q);
  if (p == 0 && config.dim() == 2) return regular_lattice(2).tc().value;
  return std::nullopt;
}

// Limits of U (analysis/README.md): the square torus, the cubic lattice, and mean field for any p >
// 0.
std::optional<double> known_binder(int dim, double p) {
  if (p > 0) return mean_field_binder();
  const double regular = regular_lattice(dim).binder;
  return std::isfinite(regular) ? std::optional(regular) : std::nullopt;
}

bool cubic_shape(const std::vector<SizeData>& sizes) {
  return std::ranges::all_of(sizes, [](const SizeData& size) {
    return std::ranges::adjacent_find(size.extents, std::not_equal_to<>()) == size.extents.end();
  });
}

void find_crossings(const StudyConfig& config, const WindowPoint& point, TcPointResult& result) {
  std::vector<std::vector<JackknifeCurve>> curves;
  result.crossings = crossings_of(config, point, false, &curves);
  for (std::size_t k = 0; k < point.sizes.size(); ++k) {
    const Eigen::ArrayXd& fine = curves[kBinder][k].temperature;
    result.fine.push_back(
        {{fine.begin(), fine.end()}, curves[kBinder][k].values(), curves[kScaledM2][k].values()});
  }
}

void extrapolate(const StudyConfig& config, TcPointResult& result) {
  result.exponents = result.p > 0 ? mean_field_exponents()
                                  : potts_exponents(config.dim(), static_cast<int>(config.model.q));
  if (config.model.q == 4) {
    result.warnings.push_back(
        "four states: corrections to scaling are logarithmic and are neglected; Tc may be off by "
        "more than its error");
  }
  std::vector<Crossing> binder_crossings;
  for (const auto& crossing : result.crossings) {
    if (crossing.with_limit()) continue;
    if (crossing.observable == kBinder) binder_crossings.push_back(crossing);
    if (crossing.status == CrossingStatus::found) continue;
    result.warnings.push_back(fmt::format(
        "{} of {} and {} sites: {}", crossing_symbol(crossing.observable), crossing.smaller,
        crossing.larger,
        crossing.status == CrossingStatus::none ? "no crossing in the window"
                                                : "the crossing is not stable (too few graphs)"));
  }
  std::optional<SeriesPrior> series;
  if (result.p > 0 && config.model.kind == ModelKind::ising) {
    const auto ratio = next_term_ratio(result.crossings, kBinder, mean_field_binder(),
                                       kMaxBinder - mean_field_binder(), result.exponents);
    if (ratio) series = SeriesPrior{*ratio, next_term_of_limit(config.dim())};
  }
  result.tc = extrapolate_temperature(result.crossings, result.exponents, series);
  result.binder = extrapolate_height(binder_crossings, result.exponents);
}

// Crossing of U of the two largest sizes, if it was found.
const Crossing* last_crossing(const TcPointResult& result) {
  const Crossing* last = nullptr;
  for (const auto& crossing : result.crossings) {
    if (crossing.observable == kBinder && !crossing.with_limit()) last = &crossing;
  }
  return last != nullptr && last->status == CrossingStatus::found ? last : nullptr;
}

// Advice: "sizes with p N >= 100 are needed (L >= 320)".
std::string larger_sizes(const StudyConfig& config, double p) {
  if (p <= 0) return "add larger sizes";
  const double edge = std::pow(100 / p, 1.0 / config.dim());
  return fmt::format("sizes with p N >= 100 are needed (L >= {:.0f})", 2 * std::ceil(edge / 2));
}

// Small p needs large sizes: below the crossover, a rewired lattice still behaves like a regular
// one. The mean-field form then gives a wrong Tc with an acceptable chi^2. U at the crossing
// detects this.
void check_binder(const StudyConfig& config, TcPointResult& result) {
  constexpr double far = 0.25, near = 0.04, errors = 4;
  if (!result.binder_expected) return;
  const Crossing* last = last_crossing(result);
  if (last == nullptr) return;
  const Value height = estimate(last->height);
  const double off = std::abs(height.value - *result.binder_expected);
  if (off > far && off > errors * height.error) {
    result.reasons.push_back(
        {TcStatus::not_converged,
         fmt::format(
             "U at the crossing of the two largest sizes (T = {}) is {}, far from its limit "
             "{:.4f}: the crossings still move; {}",
             format_value(estimate(last->temperature)), format_value(height),
             *result.binder_expected, larger_sizes(config, result.p))});
    return;
  }
  if (!result.binder.ok) return;
  const Value limit = result.binder.total();
  const double miss = std::abs(limit.value - *result.binder_expected);
  if (miss <= near || !(miss > errors * limit.error)) return;
  result.reasons.push_back(
      {TcStatus::not_converged,
       fmt::format("U at Tc extrapolates to {}, its limit is {:.4f}; {}", format_value(limit),
                   *result.binder_expected, larger_sizes(config, result.p))});
}

// Collects the reasons against the extrapolation.
void judge(const StudyConfig& config, const WindowPoint& point, TcPointResult& result) {
  const auto against = [&](TcStatus status, std::string text) {
    result.reasons.push_back({status, std::move(text)});
  };
  for (std::size_t k = 0; k < point.sizes.size(); ++k) {
    const SizeData& size = point.sizes[k];
    HotColdTest& halves = result.averages[k].hot_cold = compare_halves(size);
    if (std::string line = equilibrium_warning(config, size); !line.empty()) {
      result.warnings.push_back(std::move(line));
    }
    if (halves.agree) continue;
    against(TcStatus::not_equilibrated,
            fmt::format("{}: {}; {}", size_text(size), differing_starts(size, halves),
                        equilibrium_cure(config)));
  }
  if (last_crossing(result) == nullptr) {
    against(TcStatus::no_window,
            fmt::format("U of the two largest sizes does not cross within the window, or not in "
                        "every jackknife sample; {}",
                        config.temperatures.empty()
                            ? "give sampling.temperatures, or more graphs"
                            : fmt::format("the given temperatures {}..{} must contain the "
                                          "crossing: give others, use more graphs, or set \"auto\"",
                                          number_text(config.temperatures.front()),
                                          number_text(config.temperatures.back()))));
  } else if (!point.no_window.empty()) {
    against(TcStatus::no_window, point.no_window);
  }
  if (const std::string few = too_few_graphs(point.sizes); !few.empty()) {
    against(TcStatus::too_few_graphs, few);
  }
  check_binder(config, result);
  if (!result.tc.ok || result.tc.fits[result.tc.chosen].fit.dof == 0) {
    against(
        TcStatus::not_converged,
        fmt::format("{} sizes do not determine how the crossings move with size; add a larger one",
                    point.sizes.size()));
  } else if (!std::isfinite(result.tc.total().error)) {
    against(TcStatus::too_few_graphs,
            "the graphs are too few for an error of the extrapolation; more are needed "
            "(lattice.graphs)");
  }
}

// Collapse of U of all sizes over (T - Tc) N^y, the usual visual check. It neglects corrections to
// scaling. It gives no result if these are visible: in S, or in a Tc that differs from the
// extrapolation.
void collapse(const WindowPoint& point, TcPointResult& result) {
  const auto near = result.candidate();
  if (!near || point.sizes.size() < 2) return;
  std::vector<JackknifeCurve> curves;
  double range = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < point.sizes.size(); ++k) {
    const SizeSamples& samples = point.sizes[k].samples;
    if (samples.graphs.size() < kMinGraphs) return;
    curves.push_back(observable_curve(static_cast<int>(k), samples, kBinder));
    const Eigen::ArrayXd& t = curves.back().temperature;
    const double reach = std::min(near->value - t[0], t[t.size() - 1] - near->value);
    range = std::min(range, reach * std::pow(curves.back().sites, result.exponents.y));
  }
  constexpr Eigen::Index enough = kCollapseDegree + 2;
  for (const JackknifeCurve& curve : curves) {
    const Eigen::ArrayXd x =
        (curve.temperature - near->value) * std::pow(curve.sites, result.exponents.y);
    if (!(range > 0) || (x.abs() <= range).count() < enough) return;
  }
  const Collapse found = fit_collapse(curves, near->value, result.exponents.y, range);
  if (!found.converged) return;
  result.collapse = found;
  result.collapse_range = range;
  const Value tc = result.tc.total();
  // S is chi^2 over its degrees of freedom and fluctuates by sqrt(2 / dof) about 1. S is rejected
  // if it exceeds 1 by more than twice that. A curve has many points, but only as many independent
  // ones as simulated temperatures within the range. The polynomial uses degree + 1 of them, Tc
  // and y two.
  double dof = -(kCollapseDegree + 1 + 2);
  for (std::size_t k = 0; k < curves.size(); ++k) {
    dof +=
        static_cast<double>(std::ranges::count_if(point.sizes[k].plan.temperatures, [&](double t) {
          return std::abs(t - near->value) * std::pow(curves[k].sites, result.exponents.y) <= range;
        }));
  }
  const double limit = 1 + 2 * std::sqrt(2 / std::max(dof, 1.0));
  constexpr double errors = 3;
  if (!(found.quality <= limit)) {
    result.collapse_against =
        fmt::format("the sizes do not fall on one curve (S above {:.2g})", limit);
  } else if (!result.accepted()) {
    result.collapse_against = "the crossings have no Tc to compare with";
  } else if (!(std::abs(found.tc.value - tc.value) <=
               errors * std::hypot(found.tc.error, tc.error))) {
    result.collapse_against =
        fmt::format("its Tc, {}, differs from that of the crossings", format_value(found.tc));
  }
}

// An exact Tc(0) gives better shifts than a measured one, which is reported beside it.
void take_tc0(const StudyConfig& config, TcResult& result) {
  for (const auto& point : result.points) {
    if (point.p == 0 && point.accepted()) result.measured_tc0 = point.tc.total();
  }
  if (config.dim() == 1) return;  // Tc(0) = 0: the shift would equal Tc(p)
  if (const auto exact = known_tc(config, 0)) {
    result.tc0 = {*exact, 0};
    result.tc0_source = "exact";
  } else if (config.dim() == 3) {
    const Value tc = regular_lattice(3).tc();
    const double unit = config.model.is_potts() ? 0.5 : 1;  // two states: Ising, 2 beta
    result.tc0 = {unit * tc.value, unit * tc.error};
    result.tc0_source = "published";
  } else if (result.measured_tc0) {
    result.tc0 = *result.measured_tc0;
    result.tc0_source = "measured";
  }
}

}  // namespace

TcStatus TcPointResult::status() const {
  TcStatus gravest = TcStatus::ok;
  for (const Reason& reason : reasons) {
    if (gravest == TcStatus::ok || reason.status < gravest) gravest = reason.status;
  }
  return gravest;
}

std::optional<Value> TcPointResult::candidate() const {
  if (tc.ok) return tc.total();
  const Crossing* last = last_crossing(*this);
  if (last == nullptr) return std::nullopt;
  return estimate(last->temperature);
}

std::vector<Crossing> crossings_of(const StudyConfig& config, const WindowPoint& point,
                                   bool thermal, std::vector<std::vector<JackknifeCurve>>* kept) {
  std::vector<Crossing> all;
  std::vector<std::vector<JackknifeCurve>> curves(2);
  for (const CrossingObservable observable : {kBinder, kScaledM2}) {
    auto& size_curves = curves[observable];
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      const SizeSamples& samples = point.sizes[k].samples;
      const auto number = static_cast<int>(k);
      size_curves.push_back(thermal ? thermal_curve(number, samples, observable)
                                    : observable_curve(number, samples, observable));
    }
    const auto found = consecutive_crossings(size_curves, observable);
    all.insert(all.end(), found.begin(), found.end());
  }
  for (std::size_t k = 0; k < point.sizes.size(); ++k) {
    if (point.p == 0 || config.model.is_potts()) break;
    all.push_back(crossing_with_limit(raised_binder(curves[kBinder][k], point.sizes[k], thermal),
                                      mean_field_binder(), kBinder));
  }
  if (kept != nullptr) *kept = std::move(curves);
  return all;
}

TcPointResult locate_tc(const StudyConfig& config, const WindowPoint& point) {
  TcPointResult result;
  result.p = point.p;
  result.warnings = point.warnings;
  result.averages.resize(point.sizes.size());
  if (point.sizes.empty() && point.p > 0) {
    result.reasons.push_back(
        {TcStatus::out_of_reach,
         "the sizes that sizes = \"auto\" allows have too few shortcuts for crossings"});
    return result;
  }
  if (point.sizes.empty()) {
    result.reasons.push_back(
        {TcStatus::no_transition, "one dimension has no transition at p = 0 (Tc = 0)"});
    return result;
  }
  find_crossings(config, point, result);
  extrapolate(config, result);
  result.exact = known_tc(config, point.p);
  if (config.model.q == 2 && (cubic_shape(point.sizes) || point.p > 0)) {
    result.binder_expected = known_binder(config.dim(), point.p);
  }
  judge(config, point, result);
  return result;
}

PointShifts point_shifts(const std::vector<double>& p, const std::vector<std::optional<Value>>& tc,
                         Value tc0) {
  PointShifts found;
  found.by_point.resize(p.size());
  std::vector<double> p_known;
  std::vector<Value> tc_known;
  std::vector<std::size_t> point;
  for (std::size_t k = 0; k < p.size(); ++k) {
    if (p[k] == 0 || !tc[k]) continue;
    p_known.push_back(p[k]);
    tc_known.push_back(*tc[k]);
    point.push_back(k);
  }
  if (point.empty()) return found;
  found.shift = shifts(p_known, tc_known, tc0);
  for (std::size_t k = 0; k < point.size(); ++k) {
    found.by_point[point[k]] = found.shift[static_cast<Eigen::Index>(k)];
  }
  if (point.size() > 1) found.local = local_exponents(found.shift);
  return found;
}

TcResult analyse_tc(const StudyConfig& config, const std::vector<WindowPoint>& points) {
  TcResult result;
  result.points.resize(points.size());
  constexpr std::size_t work = 10'000'000;  // for one point
  on_all_cores(points.size(), points.size() * work, [&](std::size_t k) {
    TcPointResult& at = result.points[k] = locate_tc(config, points[k]);
    for (std::size_t size = 0; size < points[k].sizes.size(); ++size) {
      at.averages[size].curves = simulated_curves(points[k].sizes[size]);
    }
  });
  // One point after the other, each on all cores: a fit for every graph is most of the work.
  for (std::size_t k = 0; k < points.size(); ++k) collapse(points[k], result.points[k]);
  take_tc0(config, result);
  if (result.tc0_source.empty()) return result;

  std::vector<double> p;
  std::vector<std::optional<Value>> tc;
  for (const TcPointResult& point : result.points) {
    p.push_back(point.p);
    tc.push_back(point.accepted_tc());
  }
  PointShifts found = point_shifts(p, tc, result.tc0);
  for (std::size_t k = 0; k < p.size(); ++k) result.points[k].shift = found.by_point[k];
  result.shift = std::move(found.shift);
  result.local = std::move(found.local);
  if (result.shift.p.size() < 2) return result;
  result.power_laws = fit_power_law_ranges(result.shift);
  return result;
}

}  // namespace rewise

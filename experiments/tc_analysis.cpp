#include "experiments/tc_analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/options.hpp"
#include "experiments/tc_plan.hpp"

namespace rewise {
namespace {

enum Observable { kBinder = 0, kScaledM2 = 1 };

std::vector<Value> values_of(const JackknifeCurve& curve) {
  std::vector<Value> values;
  for (Eigen::Index k = 0; k < curve.value.size(); ++k) values.push_back(curve.at(k));
  return values;
}

std::optional<double> known_tc(const StudyConfig& config, double p) {
  if (config.model == ModelKind::potts) return potts_tc(config.dim(), p, config.q);
  if (p == 0 && config.dim() == 2) return 2 / std::log(1 + std::sqrt(2.0));
  return std::nullopt;
}

// PHYSICS.md: the square torus, the cubic lattice, and mean field for any p > 0.
std::optional<double> known_binder(int dim, double p) {
  if (p > 0) return 1 - std::pow(std::tgamma(0.25), 4) / (24 * M_PI * M_PI);
  if (dim == 2) return 0.61069;
  if (dim == 3) return 0.4655;
  return std::nullopt;
}

bool cubic_shape(const std::vector<SizeData>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](const SizeData& size) {
    return std::adjacent_find(size.extents.begin(), size.extents.end(), std::not_equal_to<>()) ==
           size.extents.end();
  });
}

void find_crossings(const PointData& point, PointResult& result) {
  for (int observable = kBinder; observable <= (point.p > 0 ? kScaledM2 : kBinder); ++observable) {
    std::vector<JackknifeCurve> curves;
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      curves.push_back(observable_curve(static_cast<int>(k), point.sizes[k].samples, observable));
      SizeCurves& fine = result.sizes[k].fine;
      fine.temperatures.assign(curves[k].temperature.begin(), curves[k].temperature.end());
      (observable == kBinder ? fine.binder : fine.scaled_m2) = values_of(curves[k]);
    }
    const auto crossings = consecutive_crossings(curves, observable);
    result.crossings.insert(result.crossings.end(), crossings.begin(), crossings.end());
  }
}

void extrapolate(const StudyConfig& config, PointResult& result) {
  result.exponents = result.p > 0 ? mean_field_exponents()
                                  : potts_exponents(config.dim(), static_cast<int>(config.q));
  if (config.q == 4) {
    result.warnings.push_back(
        "four states: corrections of the size are logarithms, which are left out; Tc may be off by "
        "more than its error");
  }
  std::vector<Crossing> of_binder;
  for (const auto& crossing : result.crossings) {
    if (crossing.observable == kBinder) of_binder.push_back(crossing);
    if (crossing.status == CrossingStatus::found) continue;
    result.warnings.push_back(fmt::format(
        "{} of {} and {} sites: {}", crossing.observable == kBinder ? "U" : "sqrt(N) m^2",
        crossing.smaller, crossing.larger,
        crossing.status == CrossingStatus::none ? "no crossing in the window"
                                                : "the crossing is not stable (too few graphs)"));
  }
  result.tc = extrapolate_temperature(result.crossings, result.exponents);
  result.binder = extrapolate_height(of_binder, result.exponents);
  if (!result.tc.ok) {
    result.warnings.push_back("no Tc: no crossing could be used");
    return;
  }
  const CrossingFit& chosen = result.tc.fits[result.tc.chosen];
  if (chosen.fit.q >= kLeastQ) return;
  // The fit's error means nothing then: the crossings themselves say how far off it may be.
  double spread = 0;
  for (const auto i : chosen.used) {
    const double distance = result.crossings[i].temperature.value - result.tc.value.value;
    spread = std::max(spread, std::abs(distance));
  }
  result.tc.systematic = std::max(result.tc.systematic, spread);
  result.warnings.push_back(
      fmt::format("the extrapolation of Tc does not fit (Q = {:.1g}); its error is the spread of "
                  "the crossings: larger sizes are needed",
                  chosen.fit.q));
}

// Small p needs large sizes: below the crossover a rewired lattice still behaves as a regular one,
// and the mean-field form leads astray with a fair chi^2.
const Crossing* largest_crossing(const PointResult& result) {
  const Crossing* largest = nullptr;
  for (const auto& crossing : result.crossings) {
    if (crossing.observable == kBinder && crossing.status == CrossingStatus::found) {
      largest = &crossing;
    }
  }
  return largest;
}

void check_crossover(PointResult& result) {
  if (!below_crossover(result)) return;
  result.warnings.push_back(fmt::format(
      "U at the crossing of the two largest sizes is {:.2f}, far from its mean-field value {:.2f}: "
      "for so small a p these sizes are too small, and Tc may be off by more than its error",
      largest_crossing(result)->height.value, *result.binder_expected));
}

PointResult analyse_point(const StudyConfig& config, const PointData& point) {
  PointResult result = locate_tc(config, point);
  for (std::size_t k = 0; k < point.sizes.size(); ++k) {
    const SizeData& size = point.sizes[k];
    SizeResult& added = result.sizes[k];
    added.simulated = simulated_curves(size);
    added.hot_cold = compare_halves(size);
    if (!added.hot_cold.agree) {
      result.warnings.push_back(fmt::format(
          "{}: replicas that started hot and cold differ in |m| by {:.1f} standard errors: not in "
          "equilibrium, raise sampling.equilibrate",
          extents_text(size.extents), std::abs(added.hot_cold.worst_z)));
    }
  }
  check_crossover(result);
  return result;
}

void take_tc0(const StudyConfig& config, TcResult& result) {
  for (const auto& point : result.points) {
    if (point.p == 0 && point.tc.ok) {
      result.tc0 = point.tc.total();
      result.tc0_source = "measured";
      return;
    }
  }
  if (const auto exact = known_tc(config, 0)) {
    result.tc0 = {*exact, 0};
    result.tc0_source = "exact";
  } else if (config.dim() == 3) {
    // beta_c = 0.221654626(5), Ferrenberg, Xu & Landau 2018.
    constexpr double beta = 0.221654626, error = 5e-9;
    const double unit = config.model == ModelKind::potts ? 0.5 : 1;  // two states: Ising, 2 beta
    result.tc0 = {unit / beta, unit * error / (beta * beta)};
    result.tc0_source = "published";
  }
}

}  // namespace

PointResult locate_tc(const StudyConfig& config, const PointData& point) {
  PointResult result;
  result.p = point.p;
  result.warnings = point.warnings;
  result.sizes.resize(point.sizes.size());
  find_crossings(point, result);
  extrapolate(config, result);
  result.exact = known_tc(config, point.p);
  if (config.q == 2 && (cubic_shape(point.sizes) || point.p > 0)) {
    result.binder_expected = known_binder(config.dim(), point.p);
  }
  return result;
}

bool below_crossover(const PointResult& result) {
  constexpr double far = 0.15;
  if (result.p == 0 || !result.tc.ok || !result.binder_expected) return false;
  const Crossing* largest = largest_crossing(result);
  return largest != nullptr && std::abs(largest->height.value - *result.binder_expected) >= far;
}

TcResult analyse_tc(const StudyConfig& config, const std::vector<PointData>& points) {
  TcResult result;
  for (const auto& point : points) {
    result.points.push_back(analyse_point(config, point));
  }
  take_tc0(config, result);
  if (result.tc0_source.empty()) return result;

  std::vector<double> p;
  std::vector<Value> tc;
  std::vector<PointResult*> rewired;
  for (auto& point : result.points) {
    if (point.p == 0 || !point.tc.ok || !std::isfinite(point.tc.total().error)) continue;
    p.push_back(point.p);
    tc.push_back(point.tc.total());
    rewired.push_back(&point);
  }
  if (p.empty()) return result;
  result.shift = shifts(p, tc, result.tc0);
  for (std::size_t k = 0; k < p.size(); ++k) {
    rewired[k]->shift = result.shift[static_cast<Eigen::Index>(k)];
  }
  if (p.size() < 2) return result;
  result.local = local_exponents(result.shift);
  result.power_laws = fit_power_law_ranges(result.shift);
  return result;
}

}  // namespace rewise

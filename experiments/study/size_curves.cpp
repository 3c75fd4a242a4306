#include "experiments/study/size_curves.hpp"

#include <cmath>
#include <limits>

namespace rewise {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double energy_at(const Moments& m, double, double) { return m(kEnergy); }
double abs_m_at(const Moments& m, double, double) { return m(kAbsMagnetisation); }
double m2_at(const Moments& m, double, double) { return m(kM2); }
double m4_at(const Moments& m, double, double) { return m(kM4); }

// One graph has no spread: values without error.
std::vector<Value> values_of(const JackknifeCurve& curve, bool with_errors) {
  std::vector<Value> values;
  for (Eigen::Index k = 0; k < curve.value.size(); ++k) {
    values.push_back(with_errors ? curve.at(k) : Value{curve.value(k), kNan});
  }
  return values;
}

// Of a number that each graph has at each temperature.
std::vector<Value> means_over_graphs(const SizeData& size, Eigen::ArrayXd GraphSample::*number) {
  std::vector<Value> means;
  for (std::size_t t = 0; t < size.plan.temperatures.size(); ++t) {
    std::vector<double> values;
    for (const auto& graph : size.samples.graphs) {
      values.push_back((graph.*number)(static_cast<Eigen::Index>(t)));
    }
    means.push_back(mean_and_error(values));
  }
  return means;
}

}  // namespace

std::span<const CurveObservable> curve_observables() {
  static constexpr CurveObservable all[] = {
      {"energy", &SizeCurves::energy, energy_at},
      {"abs_magnetisation", &SizeCurves::abs_magnetisation, abs_m_at},
      {"m2", &SizeCurves::m2, m2_at},
      {"m4", &SizeCurves::m4, m4_at},
      {"binder", &SizeCurves::binder, binder_at},
      {"scaled_m2", &SizeCurves::scaled_m2, scaled_m2_at},
      {"specific_heat", &SizeCurves::specific_heat, specific_heat},
      {"susceptibility", &SizeCurves::susceptibility, susceptibility}};
  return all;
}

Eigen::ArrayXd thermal_variance(const SizeData& size, const CurveObservable& observable) {
  const MomentTable table = simulated_table(size.samples, size.plan.temperatures);
  const MomentTable noise = simulated_thermal_table(size.samples, size.plan.temperatures);
  const ControlVariates known = controls(size.samples);
  const JackknifeCurve curve = changed_curve(0, table, noise, observable.function, known);
  return (curve.left_out.rowwise() - curve.value.transpose()).square().colwise().sum();
}

SizeCurves simulated_curves(const SizeData& size) {
  SizeCurves curves;
  curves.temperatures = size.plan.temperatures;
  const MomentTable table = simulated_table(size.samples, size.plan.temperatures);
  const ControlVariates known = controls(size.samples);
  const bool several = size.samples.graphs.size() > 1;
  for (const Eigen::Index k : controls_in_use(known)) {
    curves.controls.push_back(known.names[static_cast<std::size_t>(k)]);
  }
  for (const CurveObservable& o : curve_observables()) {
    curves.*o.curve = values_of(curve_over_graphs(0, table, o.function, known), several);
    curves.plain.push_back(curves.controls.empty()
                               ? curves.*o.curve
                               : values_of(curve_over_graphs(0, table, o.function), several));
    if (o.curve != &SizeCurves::scaled_m2) continue;
    for (auto* values : {&curves.scaled_m2, &curves.plain.back()}) {
      for (Value& v : *values) {
        const double factor = std::pow(size.samples.sites, size.samples.m2_power - 0.5);
        v = {v.value * factor, v.error * factor};
      }
    }
  }
  curves.cluster_fraction = means_over_graphs(size, &GraphSample::cluster_fraction);
  curves.tau = means_over_graphs(size, &GraphSample::tau);
  return curves;
}

HotCold compare_halves(const SizeData& size) {
  std::vector<Halves> graphs;
  for (const auto& graph : size.samples.graphs) graphs.push_back(graph.halves);
  return compare_halves(graphs);
}

SizeCurves curves_of_one_graph(const std::vector<TemperatureResult>& results, double sites) {
  SizeCurves curves;
  for (const TemperatureResult& at : results) {
    curves.temperatures.push_back(at.temperature);
    curves.energy.push_back(at.energy.value);
    curves.abs_magnetisation.push_back(at.abs_magnetisation.value);
    curves.m2.push_back(at.m2.value);
    curves.m4.push_back(at.m4.value);
    curves.specific_heat.push_back(at.specific_heat);
    curves.susceptibility.push_back(at.susceptibility);
    curves.binder.push_back(at.binder);
    const double root = std::sqrt(sites);
    curves.scaled_m2.push_back({root * at.m2.value.value, root * at.m2.value.error});
    curves.cluster_fraction.push_back(at.cluster_fraction);
    curves.tau.push_back(at.m2.tau);
  }
  for (const CurveObservable& o : curve_observables()) curves.plain.push_back(curves.*o.curve);
  return curves;
}

}  // namespace rewise

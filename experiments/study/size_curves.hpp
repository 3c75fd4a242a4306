// What a study knows of one size at one p: its plan, its graphs, and observables averaged over them
// (DESIGN.md section 8): thermal averages per graph, then over graphs, errors by jackknife over
// graphs with control variates; over replicas where there is one graph.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/tasks/graph_sample.hpp"
#include "experiments/tasks/task_results.hpp"
#include "experiments/tc/tc_plan.hpp"

namespace rewise {

struct SizeData {
  std::vector<std::uint32_t> extents;
  SizePlan plan;
  SizeSamples samples;
};

// Observables at the simulated temperatures, each [T].
struct SizeCurves {
  std::vector<double> temperatures;
  std::vector<Value> energy, abs_magnetisation, m2, m4, specific_heat, susceptibility, binder,
      scaled_m2, cluster_fraction, tau;
  // The observables of curve_observables() once more, without control variates, [observable][T].
  std::vector<std::vector<Value>> plain;
  std::vector<std::string> controls;  // names of those that the others lean on
};

// One of them that is a function of averaged moments.
struct CurveObservable {
  std::string_view name;  // as in summary.json
  std::vector<Value> SizeCurves::*curve;
  double (*function)(const Moments&, double sites, double temperature);
};
std::span<const CurveObservable> curve_observables();

// Two graphs or more; with fewer the errors are NaN.
SizeCurves simulated_curves(const SizeData& size);

// Of the squared error of an observable the part that is thermal noise, [T], from two halves of
// each graph's replicas. Every graph needs `simulated_thermal`.
Eigen::ArrayXd thermal_variance(const SizeData& size, const CurveObservable& observable);
HotCold compare_halves(const SizeData& size);

// The same for one graph, from its replicas.
SizeCurves curves_of_one_graph(const std::vector<TemperatureResult>& results, double sites);

}  // namespace rewise

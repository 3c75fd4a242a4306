// What a study knows of one size at one p: its plan, its graphs, and observables averaged over them
// (DESIGN.md section 8): thermal averages per graph, then over graphs, errors by jackknife over
// graphs with control variates; over replicas where there is one graph.
#pragma once

#include <vector>

#include "experiments/graph_sample.hpp"
#include "experiments/task_results.hpp"
#include "experiments/tc_plan.hpp"

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
};

// Replicas that started hot against those that started cold, over all temperatures.
struct HotCold {
  bool agree = true;
  double worst_z = 0;  // of <|m|>, hot minus cold over its error
  int checks = 0;
};

// Two graphs or more; with fewer the errors are NaN.
SizeCurves simulated_curves(const SizeData& size);
// Four graphs or more; with fewer nothing is checked.
HotCold compare_halves(const SizeData& size);

// The same for one graph, from its replicas.
SizeCurves curves_of_one_graph(const std::vector<TemperatureResult>& results, double sites);
HotCold compare_halves(const std::vector<TemperatureResult>& results);

}  // namespace rewise

// What a study knows of one size at one p: its plan, its graphs, and observables averaged over them
// (analysis/README.md): thermal averages per graph, then over graphs, errors by jackknife over
// graphs with control variates; over replicas where there is one graph.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/tasks/graph_sample.hpp"
#include "experiments/tasks/task_results.hpp"
#include "experiments/tc/tc_plan.hpp"

namespace rewise {

struct SizeData {
  std::vector<std::uint32_t> extents;  // empty: an own graph
  std::string name, hash;              // of an own graph: its file's stem, graph_hash()
  SizePlan plan;
  SizeSamples samples;
};

// "64x64", or the name of an own graph.
std::string size_text(const SizeData& size);

// What was measured at the simulated temperatures, each [T].
struct SizeCurves {
  std::vector<double> temperatures;
  std::vector<std::vector<Value>> observables;  // [observables()][T]
  std::vector<std::vector<Value>> plain;        // the same without control variates
  std::vector<Value> cluster_fraction, tau;
  std::vector<std::string> controls;  // their names, where they help any observable anywhere

  const std::vector<Value>& of(std::string_view name) const {
    return observables[observable(name)];
  }
};

// Two graphs or more; with fewer the errors are NaN.
SizeCurves simulated_curves(const SizeData& size);

// Of the squared error of an observable the part that is thermal noise, [T], from two halves of
// each graph's replicas. Every graph needs `simulated_thermal`.
Eigen::ArrayXd thermal_variance(const SizeData& size, const Observable& observable);
HotCold compare_halves(const SizeData& size);

// The same for one graph, from its replicas.
SizeCurves curves_of_one_graph(const std::vector<TemperatureResult>& results);

}  // namespace rewise

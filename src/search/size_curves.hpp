// Data of a study for one size at one p: its plan, its graphs, and averaged observables
// (analysis/README.md). Observables are thermal averages per graph, averaged over graphs, with
// errors by jackknife over graphs with control variates; over replicas if there is only one graph.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/results/graph_sample.hpp"
#include "src/results/task_results.hpp"
#include "src/search/size_plan.hpp"

namespace rewise {

struct SizeData {
  std::vector<std::uint32_t> extents;  // empty: an imported graph
  std::string name, hash;              // imported graph: file name without suffix; graph_hash()
  std::uint32_t first_graphs = 0;      // initial number of graphs
  SizePlan plan;
  SizeSamples samples;
  std::vector<TemperatureResult> single;  // the results of the graph, if there is only one
};

// A size of a study without samples, with `graphs` initial graphs.
SizeData empty_size(const std::vector<std::uint32_t>& extents, std::uint32_t graphs);

// Removes graphs that an interrupted study has not measured. Returns the number of the others.
inline std::size_t drop_unmeasured(SizeSamples& size) {
  std::erase_if(size.graphs, [](const GraphSample& graph) { return graph.measurements == 0; });
  return size.graphs.size();
}

// The coarse scan of one size at one p: kScanGraphs graphs, each simulated at all temperatures.
struct ScanResult {
  std::vector<double> temperatures;
  std::vector<GraphSample> graphs;

  Moments mean(std::size_t t) const {  // over the graphs
    Moments sum = Moments::Zero();
    for (const GraphSample& graph : graphs) {
      sum += graph.simulated.row(static_cast<Eigen::Index>(t)).transpose();
    }
    return sum / static_cast<double>(graphs.size());
  }
};

// "64x64", or the name of an imported graph.
std::string size_text(const SizeData& size);

// Values of a size at its simulated temperatures.
struct SizeCurves {
  std::vector<double> temperatures;
  // What was measured, each [T], by name: observables(), also with "_plain" appended (without
  // control variates), overlap_observables(), staggered_observables(), field_observables(), "tau",
  // "cluster_fraction", "overlap_tau" (of q^2; error NaN: a lower bound) and "exchange_accepted"
  // (with the next temperature).
  std::map<std::string, std::vector<Value>, std::less<>> values;
  std::vector<double> rejected;  // temperatures without values, because they are not in equilibrium
  std::vector<std::string>
      controls;  // names of the controls that improve any observable at any temperature

  bool has(std::string_view name) const { return values.find(name) != values.end(); }
  // NaN if it was not measured.
  Value at(std::string_view name, std::size_t temperature) const;
};

// Replica exchange, averaged over the graphs.
struct ExchangeMeans {
  std::vector<Value> accepted;    // [T] share of the attempts with the next temperature; last: NaN
  std::uint64_t round_trips = 0;  // of all graphs
  Value trips_per_1000;           // per replica and 1000 cycles
};
// Nothing without replica exchange of all temperatures together.
std::optional<ExchangeMeans> exchange_means(const SizeData& size);

// Errors are NaN if there are fewer than two graphs.
SizeCurves simulated_curves(const SizeData& size);

// A function of the moments on the fine grid, with control variates.
JackknifeCurve fine_curve(int sample, const SizeSamples& samples, const MomentFunction& f);

// Thermal part of the squared error of an observable, [T], from two halves of each graph's
// replicas. Every graph needs `simulated_thermal_noise`.
Eigen::ArrayXd thermal_variance(const SizeData& size, const Observable& observable);
HotColdTest compare_halves(const SizeData& size);

// " on 2 of 8 graphs (graph seeds 17, 23)", " on all 8 graphs": where something was found; "" for
// one graph, or if `graphs` is empty. A seed is what `run --graph-seed` needs.
std::string on_graphs(const SizeData& size, const std::vector<std::size_t>& graphs);
// "replicas that started hot and cold differ in .. by .. standard errors", and on which graphs.
// `halves`: compare_halves(size), which do not agree.
std::string differing_starts(const HotColdTest& halves);
std::string differing_starts(const SizeData& size, const HotColdTest& halves);

// Why the graphs of some size are too few for an error; "" if they are not.
std::string too_few_graphs(const std::vector<SizeData>& sizes);

// Maximum over temperatures of tau_int of m^2, averaged over graphs, in cycles; 0: unknown.
double longest_tau(const SizeData& size);
// Number of further measurements to drop until kMinTaus tau_int have passed.
std::uint64_t measurements_to_drop(const SizeData& size);
// Advice for a study that is not in equilibrium.
std::string equilibrium_cure(const StudyConfig& config);
// A warning if the equilibration of a size was too short, of one line; "" if not.
std::string equilibrium_warning(const StudyConfig& config, const SizeData& size);

// Curves of a size with one graph, with errors from its replicas.
SizeCurves curves_of_one_graph(const SizeData& size);

}  // namespace rewise

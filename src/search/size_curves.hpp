// What a study knows of one size at one p: its plan, its graphs, and observables averaged over them
// (analysis/README.md): thermal averages per graph, then over graphs, errors by jackknife over
// graphs with control variates; over replicas where there is one graph.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/search/tc_plan.hpp"
#include "src/study/graph_sample.hpp"
#include "src/study/task_results.hpp"

namespace rewise {

struct SizeData {
  std::vector<std::uint32_t> extents;  // empty: an own graph
  std::string name, hash;              // of an own graph: its file's stem, graph_hash()
  SizePlan plan;
  SizeSamples samples;
};

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

// "64x64", or the name of an own graph.
std::string size_text(const SizeData& size);

// What was measured at the simulated temperatures, each [T].
struct SizeCurves {
  std::vector<double> temperatures;
  std::vector<std::vector<Value>> observables;  // [observables()][T]
  std::vector<std::vector<Value>> plain;        // the same without control variates
  std::vector<std::vector<Value>> overlaps;     // [overlap_observables()][T], or nothing
  std::vector<Value> cluster_fraction, tau;
  std::vector<double> refused;        // temperatures without values: not in equilibrium
  std::vector<std::string> controls;  // their names, where they help any observable anywhere

  // By name: an observable, also of overlaps, one with "_plain" behind it, "tau" or
  // "cluster_fraction".
  const std::vector<Value>& of(std::string_view name) const;
};

// Two graphs or more; with fewer the errors are NaN.
SizeCurves simulated_curves(const SizeData& size);

// Of the squared error of an observable the part that is thermal noise, [T], from two halves of
// each graph's replicas. Every graph needs `simulated_thermal`.
Eigen::ArrayXd thermal_variance(const SizeData& size, const Observable& observable);
HotCold compare_halves(const SizeData& size);

// The largest tau_int of m^2 over the temperatures, averaged over graphs, in cycles; 0: not known.
double longest_tau(const SizeData& size);
// How many measurements more are to be dropped until kLeastTaus of these have passed.
std::uint64_t measurements_to_drop(const SizeData& size);
// What to do about the equilibrium of a study.
std::string equilibrium_cure(const StudyConfig& config);
// One line each, for every kind of study: what speaks against the equilibrium of a size apart from
// its halves.
std::vector<std::string> equilibrium_warnings(const StudyConfig& config, const SizeData& size);

// Takes the values of temperatures at which hot and cold starts differ away (NaN), and notes these
// in `refused`. The level of all temperatures together is that of compare_halves().
void blank_refused(const SizeData& size, SizeCurves& curves);

// The same, of a size whose times are fixed, where replicas of a graph are stuck, or tau_int of m^2
// is longer than the measurements; says so, one line each.
std::vector<std::string> blank_stuck(const StudyConfig& config, const SizeData& size,
                                     SizeCurves& curves);

// The same where overlaps still change while they are measured.
std::vector<std::string> blank_drifting(const StudyConfig& config, const SizeData& size,
                                        SizeCurves& curves);

// The curves of one graph, with errors from its replicas.
SizeCurves curves_of_one_graph(const std::vector<TemperatureResult>& results);

}  // namespace rewise

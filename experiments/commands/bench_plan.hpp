// What `rewise bench` times: its options, checked, and the groups that follow from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/commands/bench.hpp"
#include "experiments/console/shared_options.hpp"

namespace rewise {

// As typed; empty: the default that --help names in brackets.
struct BenchOptions : ModelOptions {
  std::uint64_t dim = 2, threads = 0, repeats = 5, cluster_updates = 0, equilibrate = 100;
  std::uint64_t seed = 1;
  std::string engine, update, device = "all", size = "256", p = "0,0.01,0.1", temperature;
  std::string replicas, systems, graphs = "1", schedule;
  std::string seconds = "0.1s", vs, share_route = "auto";
  MethodWords methods;
  bool json = false, share_ranks = false;
};

// Everything that was asked for, checked.
struct BenchPlan {
  std::vector<EngineKind> engines;
  std::vector<Update> updates;
  std::map<std::string, std::vector<std::string>> methods;  // words by option
  int dim = 2;
  std::vector<Device> devices;
  std::vector<GraphSpec> graphs;  // size by size, p by p
  std::vector<double> temperatures;
  std::vector<std::uint32_t> replicas, systems, graphs_together;
  BenchEffort effort;
  Model model;
};

// Error(usage) naming the option; Error(device) where a device that was named cannot be used, or an
// engine that was named cannot run on it.
BenchPlan make_bench_plan(const BenchOptions& options);

// Every combination of what was asked for, engine by engine, without what a device cannot run.
std::vector<BenchGroup> bench_groups(const BenchPlan& plan, const BenchOptions& options);

}  // namespace rewise

// Plans `rewise bench`: checks its options and lists the groups of measurements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/commands/bench.hpp"
#include "experiments/console/shared_options.hpp"

namespace rewise {

// Options as typed. Empty: the default given in brackets by --help.
struct BenchOptions : ModelOptions {
  std::uint64_t dim = 2, threads = 0, repeats = 5, cluster_updates = 0, equilibrate = 100;
  std::uint64_t seed = 1;
  std::string engine, update, device = "all", size = "256", p = "0,0.01,0.1", temperature;
  std::string replicas, systems, graphs = "1", schedule;
  std::string seconds = "0.1s", share_route = "auto";
  MethodTexts methods;
  bool json = false, share_ranks = false;
};

// The checked options.
struct BenchPlan {
  std::vector<EngineKind> engines;
  std::vector<Update> updates;
  std::map<std::string, std::vector<std::string>> methods;  // words by option
  int dim = 2;
  std::vector<Device> devices;
  std::vector<GraphSpec> graphs;  // every size with every p; p varies fastest
  std::vector<double> temperatures;
  std::vector<std::uint32_t> replicas, systems, graphs_together;
  BenchEffort effort;
  Model model;
};

// Throws Error(usage), which names the option, and Error(device) if a requested device cannot be
// used or a requested engine cannot run on it.
BenchPlan make_bench_plan(const BenchOptions& options);

// All requested combinations, engine by engine, without those that a device cannot run.
std::vector<BenchGroup> bench_groups(const BenchPlan& plan, const BenchOptions& options);

}  // namespace rewise

// The options of `rewise run`, and the task that they describe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/console/commands.hpp"
#include "experiments/console/shared_options.hpp"
#include "src/settings/parse.hpp"
#include "src/settings/task_request.hpp"

namespace rewise {

struct RunOptions : LatticeOptions, ModelOptions {
  // Holds the options that have no member below. check_run_options() and run_spec() complete it.
  TaskRequest task;
  std::uint64_t seed = 1, threads = 0, few_cluster_tile = 0;
  GraphFileOptions reading;
  MethodTexts methods;
  std::string graph, temperature, schedule = "1:1", device = "auto", local = "auto";
  bool staggered = false;
  std::string few_cluster_flip = number_text(FewCluster{}.flip);
  std::string cluster, start = "mixed", out;
  std::string checkpoint = "5min", time_limit, share_route = "auto", state = "auto";
  std::string snapshot, snapshot_overlaps;
  bool json = false, dry_run = false, share_ranks = false, recompute_damaged = false;
};

void add_run_options(CLI::App& app, RunOptions& options);

// Completes `task`, except for its graph, model and temperatures: one replica for the bitlattice
// engine unless given, and the engine for --share-ranks unless given. Throws Error(usage) for
// options that exclude each other.
void check_run_options(const CLI::App& app, RunOptions& options);

// The task. Schedule and cluster update are not set if they are "auto". Throws Error(usage);
// Error(data, io) for --graph.
TaskSpec run_spec(const RunOptions& options);
// Throws Error(usage).
FinalState run_final_state(const RunOptions& options);
// EngineOptions::methods. Throws Error(usage) for a method that `spec` does not use.
UpdateMethods run_methods(const RunOptions& options, const TaskSpec& spec);

}  // namespace rewise

// A task is one graph with all its temperatures: the unit of work, checkpoints and distribution. A
// TaskSpec holds all settings that determine its numbers.
//
// A run consists of an optional warm-up, `equilibrate` cycles, and `measure` times `every` cycles
// with a measurement. Cluster sums before the first measurement are dropped, so each measurement
// covers every * W cluster updates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/engine/registry.hpp"
#include "src/store/task_file.hpp"

namespace rewise {

// Initial cycles with other updates. Swendsen-Wang equilibrates ordered and random starts at any
// temperature, even if other updates measure faster there. Not all engines support it.
struct WarmUp {
  std::uint64_t cycles = 0;
  Updates updates{{1, 1}, ClusterUpdate::swendsen_wang};
};

// Settings that do not depend on the graph or the temperatures: those that all tasks of a study
// have in common.
struct TaskSettings {
  EngineKind engine = kDefaultEngine;
  Model model;
  LocalUpdate local = LocalUpdate::metropolis;
  FewCluster few_cluster;
  std::uint32_t replicas = 32;  // per temperature
};

struct TaskSpec : TaskSettings {
  GraphSpec graph;
  std::shared_ptr<const Graph> imported;  // replaces `graph`
  ClusterUpdate cluster = ClusterUpdate::wolff;
  std::vector<double> temperatures;  // [T]
  Start start = Start::mixed;
  // The spins of Start::given, as of Engine::write_spins(). nullptr if a state replaces them.
  std::shared_ptr<const std::vector<std::uint8_t>> start_spins;
  std::uint64_t seed = 1;
  Schedule schedule;
  WarmUp warm_up;
  std::uint64_t equilibrate = 1000;  // cycles
  std::uint64_t measure = 1000;      // measurements
  std::uint64_t every = 1;           // cycles per measurement
  bool cluster_pairs = false;        // as in EngineSpec
  bool staggered = false;            // likewise

  // Replaces the updates, except that exchange and Houdayer moves stay as they are.
  void set(const Updates& updates);
  std::uint64_t discarded_cycles() const { return warm_up.cycles + equilibrate; }
  std::uint64_t cycles() const { return discarded_cycles() + measure * every; }
};

// Every key that determines the numbers, as text (task_keys.cpp).
TextMap task_configuration(const TaskSpec& spec);
// The settings of a finished task or a checkpoint without its graph. Unlike settings of a user
// (task_request.hpp), they are not checked. Throws Error(usage) for unknown words; `origin` begins
// the message.
TaskSpec stored_spec(const TaskData& data, const std::string& origin = "task file");
// 16 hex digits from the configuration, independent of the number of measurements.
std::string task_id(const TaskSpec& spec);
std::shared_ptr<const Graph> task_graph(const TaskSpec& spec);  // builds it unless imported
EngineSpec engine_spec(const TaskSpec& spec);
// What determines the columns of its series and their ranges.
MeasuredRun measured_run(const TaskSpec& spec, double sites, double bonds);

// Whether staggered magnetisations are measured: as `requested`; by default those of
// antiferromagnets whose sites form two sublattices. `imported`: nullptr for a graph that is built.
// Throws Error(usage) with `origin` if they are requested but not defined.
bool measures_staggered(std::optional<bool> requested, const Model& model, const Graph* imported,
                        const std::string& origin);

// Number of sites of the task's graph, built or imported.
double site_count(const TaskSpec& spec);

// Number of threads that speed up one task. Below about 10^4 words per sweep, synchronisation costs
// more than a thread gains.
int useful_threads(const TaskSpec& spec, int available);

// How a finished file keeps the final state, from which more measurements can continue. `none`:
// smaller file; a request for more measurements starts again and gives the same numbers. `apart`:
// if ranks share the replicas, each rank writes its spins to a file beside the task's
// (state_parts.hpp). `whole`: in the task's file. `automatic`: `apart` if the state is large
// (memory_need.hpp).
enum class FinalState { automatic, whole, apart, none };

}  // namespace rewise

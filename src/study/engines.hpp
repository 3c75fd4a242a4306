// Builds every engine. Code above the engines uses these functions and EngineTraits (registry.hpp);
// it does not name an engine.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "src/engine/factory.hpp"
#include "src/engine/registry.hpp"
#include "src/study/task.hpp"

namespace rewise {

const EngineFactory& factory(EngineKind engine);
// The first engine whose systems ranks or devices can share.
EngineKind sharing_engine();

// `graph` must outlive the engine. nullptr selects the regular lattice of `extents`, if
// EngineTraits::regular_only. The engine spans the ranks that share replicas, if any
// (shared_ranks.hpp).
std::unique_ptr<Engine> make_engine(EngineKind engine, const Graph* graph,
                                    const std::vector<std::uint32_t>& extents,
                                    const EngineSpec& spec, const EngineOptions& options);
inline std::unique_ptr<Engine> make_engine(EngineKind engine, const Graph& graph,
                                           const EngineSpec& spec, const EngineOptions& options) {
  return make_engine(engine, &graph, {}, spec, options);
}
// Engines of several graphs that share kernel launches. Requires EngineFactory::batches().
std::unique_ptr<EngineBatch> make_batch(EngineKind engine, std::span<const GroupTask> tasks,
                                        const EngineOptions& options);
// Parses EngineOptions::methods. Throws Error(usage) if the engine has no such option, or if a
// method is unknown or belongs to another cluster update.
std::any choose_methods(const MethodWords& words, EngineKind engine,
                        std::optional<ClusterUpdate> cluster, int dim);
// Returns why a device, or ranks that share a replica, cannot use these methods; "" if they can.
std::string why_no_methods(EngineKind engine, const std::any& methods, bool on_cuda,
                           bool shared = false);

// Builds the share of a rank from the recipe that the engine on rank 0 sends.
std::unique_ptr<Share> make_share(std::span<const std::uint8_t> recipe,
                                  distributed::Transport& ranks, const RankOptionsOf& options);

// Whether a graph must be built. A regular lattice (p = 0) may be given by its extents alone, which
// allows more than 2^32 sites.
inline bool needs_graph(const TaskSpec& spec) { return !traits(spec.engine).regular_only; }

// Throws Error(usage), with a suitable engine in the message, if the engine cannot run the task.
// Engines without cluster updates reject imported graphs without a lattice, Potts models, schedules
// with cluster updates, rewired lattices shared by ranks, and extents that are odd, below 4 or too
// large.
void check_task_engine(const TaskSpec& spec);

// The record of the regular lattice of these extents.
GraphRecord regular_record(const TaskSpec& spec);

}  // namespace rewise

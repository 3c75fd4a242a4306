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

// `graph` must outlive the engine; nullptr: the regular lattice of `extents`, where
// EngineTraits::regular_only. Over the ranks that share the command's systems, if there are any
// (shared_ranks.hpp).
std::unique_ptr<Engine> make_engine(EngineKind engine, const Graph* graph,
                                    const std::vector<std::uint32_t>& extents,
                                    const EngineSpec& spec, const EngineOptions& options);
inline std::unique_ptr<Engine> make_engine(EngineKind engine, const Graph& graph,
                                           const EngineSpec& spec, const EngineOptions& options) {
  return make_engine(engine, &graph, {}, spec, options);
}
// The engines of several graphs, which share launches where EngineFactory::batches().
std::unique_ptr<EngineBatch> make_batch(EngineKind engine, std::span<const GroupTask> tasks,
                                        const EngineOptions& options);
// EngineOptions::methods from words as typed. Error(usage) where the engine has no such option, and
// for methods that it does not know or that are not of this cluster update.
std::any choose_methods(const MethodWords& words, EngineKind engine,
                        std::optional<ClusterUpdate> cluster, int dim);
// Why a device, or ranks that share a system, have no such methods; "" if they have.
std::string why_no_methods(EngineKind engine, const std::any& methods, bool on_cuda,
                           bool shared = false);

// Any rank's share, as the engine on rank 0 orders it.
std::unique_ptr<Share> make_share(std::span<const std::uint8_t> recipe,
                                  distributed::Transport& ranks, const RankOptionsOf& options);

// Whether a graph must be built: a regular lattice, p = 0, may be known by its extents alone, so
// that systems of more than 2^32 sites run.
inline bool needs_graph(const TaskSpec& spec) { return !traits(spec.engine).regular_only; }

// Error(usage), saying which engine takes it, for a task that its engine cannot run: for an engine
// without cluster updates an imported graph without a lattice, Potts, cluster updates in the
// schedule, rewired lattices that ranks share, and extents that are odd, below 4 or too large.
void check_task_engine(const TaskSpec& spec);

// The regular lattice of these extents, without rewired bonds.
GraphRecord regular_record(const TaskSpec& spec);

}  // namespace rewise

// Creates engines by EngineKind. Code outside of the engines uses these functions and EngineTraits
// (registry.hpp), and does not name an engine.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "src/engine/factory.hpp"
#include "src/engine/registry.hpp"
#include "src/study/setting_names.hpp"
#include "src/study/task.hpp"

namespace rewise {

const EngineFactory& factory(EngineKind engine);
// Whether its replicas can be divided among ranks or devices.
inline bool shares_replicas(const EngineTraits& engine) { return factory(engine.kind).shares(); }

// `graph` must outlive the engine. nullptr selects the regular lattice of `extents`; it requires
// EngineTraits::regular_only. If ranks share replicas (shared_ranks.hpp), the engine divides its
// replicas among them, provided that it can.
std::unique_ptr<Engine> make_engine(EngineKind engine, const Graph* graph,
                                    const std::vector<std::uint32_t>& extents,
                                    const EngineSpec& spec, const EngineOptions& options);
inline std::unique_ptr<Engine> make_engine(EngineKind engine, const Graph& graph,
                                           const EngineSpec& spec, const EngineOptions& options) {
  return make_engine(engine, &graph, {}, spec, options);
}
// Creates engines for several graphs. They share kernel launches if EngineFactory::batches().
std::unique_ptr<EngineBatch> make_batch(EngineKind engine, std::span<const BatchTask> tasks,
                                        const EngineOptions& options);
// Parses EngineOptions::methods. Throws Error(usage) if the engine has no such option, or if a
// method is unknown or belongs to another cluster update.
UpdateMethods choose_methods(const MethodWords& words, EngineKind engine,
                             std::optional<ClusterUpdate> cluster, int dim);
// Returns why a device, or ranks that share a replica, cannot use these methods; "" if they can.
std::string why_no_methods(EngineKind engine, const UpdateMethods& methods, bool on_cuda,
                           bool shared = false);

// Creates the subdomain of this rank from the description that the engine on rank 0 sends.
std::unique_ptr<Subdomain> make_subdomain(std::span<const std::uint8_t> spec_bytes,
                                          distributed::Transport& ranks,
                                          const RankOptionsOf& options);

// Whether the task needs a Graph. An engine of regular lattices uses their extents instead, which
// allows more than 2^32 sites.
inline bool needs_graph(const TaskSpec& spec) { return !traits(spec.engine).regular_only; }

// Throws Error(usage) if the engine cannot run the task; the message names a suitable engine.
// Engines of regular lattices (EngineTraits::regular_only) reject p > 0, imported graphs, models
// other than Ising, schedules with cluster updates, and extents that are odd, below 4 or too large.
// All engines check the weights of an imported graph.
void check_task_engine(const TaskSpec& spec, const SettingNames& names = SettingNames::options());

// Describes the regular lattice of `spec` for the task file.
GraphRecord regular_record(const TaskSpec& spec);

}  // namespace rewise

// Selects the factory of each engine, and checks settings that depend on what engines can do. Code
// outside of the engines uses these functions and EngineTraits (registry.hpp), and does not name an
// engine.
#pragma once

#include <optional>
#include <string>

#include "src/engine/factory.hpp"
#include "src/settings/setting_names.hpp"
#include "src/settings/task_spec.hpp"

namespace rewise {

const EngineFactory& factory(EngineKind engine);
// Whether its replicas can be divided among ranks or devices.
inline bool shares_replicas(const EngineTraits& engine) {
  return factory(engine.kind).can_distribute();
}

// Parses EngineOptions::methods. Throws Error(usage) if the engine has no such option, or if a
// method is unknown or belongs to another cluster update.
UpdateMethods choose_methods(const MethodTexts& words, EngineKind engine,
                             std::optional<ClusterUpdate> cluster, int dim);
// Throws Error(usage) if the device of `options`, or the CPU, cannot use their methods.
void check_methods(EngineKind engine, const EngineOptions& options);
// Returns why a device, or ranks that share a replica, cannot use these methods; "" if they can.
std::string why_no_methods(EngineKind engine, const UpdateMethods& methods, bool on_cuda,
                           bool shared = false);

// Whether the task needs a Graph. An engine of regular lattices uses their extents instead, which
// allows more than 2^32 sites.
inline bool needs_graph(const TaskSpec& spec) { return !traits(spec.engine).regular_only; }

// Throws Error(usage) if the engine cannot run the task; the message names a suitable engine.
// Engines of regular lattices (EngineTraits::regular_only) reject p > 0, imported graphs, models
// other than Ising, schedules with cluster updates, and extents that are odd, below 4 or too large.
// All engines check the weights of an imported graph. `shared`: ranks share each replica.
void check_task_engine(const TaskSpec& spec, const SettingNames& names = SettingNames::options(),
                       bool shared = false);

}  // namespace rewise

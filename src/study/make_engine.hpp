// Creates engines by EngineKind. Code outside of the engines uses these functions and EngineTraits
// (registry.hpp), and does not name an engine.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "src/engine/factory.hpp"

namespace rewise {

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

}  // namespace rewise

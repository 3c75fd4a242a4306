// The bundle engine (Ising): 32 replicas of one graph at one temperature in one 32-bit word per
// site. Throughput engine and default. CPU here; same trajectory on CUDA.
#pragma once

#include <memory>

#include "src/engine/engine.hpp"

namespace rewise {

// `graph` must outlive the engine. Replicas must be a positive multiple of 32 (Error(usage) names
// the next one).
std::unique_ptr<Engine> make_bundle_engine(const Graph& graph, const EngineSpec& spec,
                                           const EngineOptions& options);

}  // namespace rewise

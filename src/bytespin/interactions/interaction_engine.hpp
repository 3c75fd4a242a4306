// The bytespin engine for couplings, fields and replica exchange (interaction_rules.hpp).
#pragma once

#include <memory>

#include "src/engine/engine.hpp"

namespace rewise::bytespin {

// On CPUs. Throws as InteractionTables().
std::unique_ptr<Engine> make_interaction_engine(const Graph& graph, const EngineSpec& spec,
                                                const EngineOptions& options);
// On the CUDA device options.device.
std::unique_ptr<Engine> make_interaction_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                                     const EngineOptions& options);

}  // namespace rewise::bytespin

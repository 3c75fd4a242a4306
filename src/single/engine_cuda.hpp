// The single engine on CUDA devices: one, or several that work on every system together.
#pragma once

#include <memory>

#include "src/engine/engine.hpp"

namespace rewise::single {

// On options.device or options.devices. Error(device) where one does not exist, cannot reach the
// memory of another, or has too little: the text says how much is needed and what to reduce.
// Error(usage) for what runs on the CPU only, for imported graphs on several devices, and by
// advance() for cluster updates that several devices do not share (why_no_team()).
std::unique_ptr<Engine> make_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options);

}  // namespace rewise::single

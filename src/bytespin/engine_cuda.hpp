// The bytespin engine on a CUDA device.
#pragma once

#include <memory>

#include "src/engine/engine.hpp"

namespace rewise::bytespin {

// Runs on options.device. Throws Error(device) if it does not exist or has too little memory (the
// message says how much is needed and what to reduce), Error(usage) for a method that runs on CPUs
// only.
std::unique_ptr<Engine> make_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options);

}  // namespace rewise::bytespin

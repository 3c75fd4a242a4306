// The bytespin engine on a CUDA device.
#pragma once

#include <memory>

#include "src/engine/engine.hpp"

namespace rewise::bytespin {

// On options.device. Error(device) if it does not exist or has too little memory: the text says how
// much is needed and what to reduce. Error(usage) for what runs on the CPU only.
std::unique_ptr<Engine> make_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options);

}  // namespace rewise::bytespin

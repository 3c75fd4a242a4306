// The single engine on one CUDA device.
#pragma once

#include <memory>

#include "src/engine/engine.hpp"

namespace rewise::single {

// Error(device) where there is no such device, or its memory is too small for the task: the text
// says how much is needed and what to reduce. Error(usage) for what runs on the CPU only.
std::unique_ptr<Engine> make_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options);

}  // namespace rewise::single

// The multispin engine on one CUDA device: one graph, or many that share every launch.
#pragma once

#include <memory>
#include <span>

#include "src/multispin/multispin.hpp"

namespace rewise::multispin {

// Throws Error(device) if the device does not exist or has too little memory; the message says how
// much the task needs and what to reduce.
std::unique_ptr<Engine> make_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options);

// See make_multispin_batch(); the tasks must be able to share launches.
std::unique_ptr<EngineBatch> make_cuda_batch(std::span<const BatchTask> tasks,
                                             const EngineOptions& options);

}  // namespace rewise::multispin

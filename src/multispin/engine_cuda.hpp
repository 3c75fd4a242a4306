// The multispin engine on one CUDA device: one graph, or many that share every launch.
#pragma once

#include <memory>
#include <span>

#include "src/multispin/multispin.hpp"

namespace rewise::multispin {

// Error(device) where there is no such device, or its memory is too small for the task: the text
// says how much is needed and what to reduce.
std::unique_ptr<Engine> make_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options);

// As make_multispin_batch.
std::unique_ptr<EngineBatch> make_cuda_batch(std::span<const GroupTask> tasks,
                                             const EngineOptions& options);

}  // namespace rewise::multispin

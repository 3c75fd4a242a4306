// The packed engine on one CUDA device.
#pragma once

#include <memory>

#include "src/packed/packed_engine.hpp"

namespace rewise::packed {

// Error(device) where there is no such device, or its memory is too small: the text says how much
// is needed and what to reduce.
std::unique_ptr<Engine> make_cuda_engine(const Layout& layout, const EngineSpec& spec,
                                         const EngineOptions& options);

}  // namespace rewise::packed

// A rank's part of shared systems on a CUDA device.
#pragma once

#include <memory>

#include "src/packed/slab.hpp"

namespace rewise::packed {

// Several ranks may have the same device. Error(device) where there is no such device, or its
// memory is too small.
std::unique_ptr<Slab> make_cuda_slab(const Layout& lattice, const EngineSpec& spec,
                                     ranks::Transport& transport, int device);

}  // namespace rewise::packed

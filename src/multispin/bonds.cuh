// Launch configuration for items of all graphs of a batch: one graph per blockIdx.y.
#pragma once

#include <cstdint>

#include "src/cuda/launch.hpp"
#include "src/multispin/bonds_cuda.hpp"

namespace rewise::multispin {

inline LaunchShape cover_each(const DeviceBonds& bonds, std::uint64_t items) {
  LaunchShape shape = cover(items);
  shape.blocks_y = bonds.graphs;
  return shape;
}

}  // namespace rewise::multispin

// Owns the bonds of a batch's graphs on the device (bonds_cuda.hpp), for as long as tables are made
// from them.
#pragma once

#include <cstdint>
#include <span>

#include "src/bundle/bonds_cuda.hpp"
#include "src/bundle/bundle_engine.hpp"
#include "src/bundle/device_graphs.hpp"
#include "src/cuda/device_buffer.hpp"

namespace rewise::bundle {

class BondsOnDevice {
 public:
  // Waits for the stream.
  BondsOnDevice(std::span<const EngineView> engines, const DeviceGraphs& graphs,
                cudaStream_t stream);

  const DeviceBonds& view() const { return bonds_; }

 private:
  DeviceBonds bonds_;
  DeviceBuffer<std::uint32_t> rewired_, gone_;
};

}  // namespace rewise::bundle

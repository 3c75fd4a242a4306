// Owns the bonds of the graphs of a batch in device memory (bonds_cuda.hpp), while tables are made
// from them.
#pragma once

#include <cstdint>
#include <span>

#include "src/cuda/device_buffer.hpp"
#include "src/multispin/bonds_cuda.hpp"
#include "src/multispin/device_graphs_cuda.hpp"
#include "src/multispin/multispin_engine.hpp"

namespace rewise::multispin {

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

}  // namespace rewise::multispin

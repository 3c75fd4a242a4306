// The graph and the thresholds of all temperatures in the memory of a device.
#pragma once

#include <cuda_runtime_api.h>

#include "src/bytespin/graph_tables.hpp"
#include "src/cuda/device_buffer.hpp"

namespace rewise::bytespin {

class DeviceGraph {
 public:
  // Copies to the current device and synchronises with the stream.
  DeviceGraph(const GraphTables& tables, cudaStream_t stream);

  static std::uint64_t bytes(const GraphTables& tables);

  const GraphView& view() const { return view_; }

 private:
  GraphView view_;
  DeviceBuffer<SiteMasks> site_masks_;
  DeviceBuffer<std::uint64_t> offsets_;
  DeviceBuffer<CellBond> entries_;
  DeviceBuffer<RewiredSlot> rewired_;
  DeviceBuffer<Threshold> flip_, bond_;
  DeviceBuffer<std::uint64_t> weight_;
};

}  // namespace rewise::bytespin

// The graph and the thresholds of all temperatures in the memory of a device.
#pragma once

#include <cuda_runtime_api.h>

#include "src/bytespin/graph_tables.hpp"
#include "src/cuda/device_arrays.hpp"

namespace rewise::bytespin {

class DeviceGraph {
 public:
  // Copies to the current device and synchronises with the stream.
  DeviceGraph(const GraphTables& tables, cudaStream_t stream);

  static std::uint64_t bytes(const GraphTables& tables);

  const GraphView& view() const { return view_; }

 private:
  GraphView view_;
  DeviceArrays memory_;  // to which view_ points
};

}  // namespace rewise::bytespin

// The graph and the thresholds of all temperatures in the memory of a device.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "src/bytespin/graph_tables.hpp"
#include "src/cuda/device_buffer.hpp"

namespace rewise::bytespin {

// Copies to the current device and synchronises with the stream.
template <class T>
DeviceBuffer<T> upload(const std::vector<T>& host, cudaStream_t stream) {
  DeviceBuffer<T> buffer(std::span<const T>(host), stream);
  check_cuda(cudaStreamSynchronize(stream), "copying the graph to the device");
  return buffer;
}

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

// Owns a plan's copy on the device.
#pragma once

#include <cuda_runtime_api.h>

#include "src/bytespin/device_plan.hpp"
#include "src/bytespin/plan.hpp"
#include "src/cuda/device_buffer.hpp"

namespace rewise::bytespin {

class DeviceGraph {
 public:
  // Copies to the current device and synchronises with the stream.
  DeviceGraph(const Plan& plan, cudaStream_t stream);

  static std::uint64_t bytes(const Plan& plan);

  const DevicePlan& plan() const { return plan_; }

 private:
  DevicePlan plan_;
  DeviceBuffer<SiteGroup> groups_;
  DeviceBuffer<std::uint64_t> offsets_;
  DeviceBuffer<Entry> entries_;
  DeviceBuffer<RewiredSlot> rewired_;
  DeviceBuffer<Threshold> flip_, bond_;
  DeviceBuffer<std::uint64_t> weight_;
};

}  // namespace rewise::bytespin

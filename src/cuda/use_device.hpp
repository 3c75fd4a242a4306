// The device that an engine was told to use, and what it is.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "src/base/error.hpp"
#include "src/cuda/check.hpp"
#include "src/cuda/devices.hpp"

namespace rewise {

// Makes it this thread's device and returns its index; Error(device) where there is none such.
inline int use_device(int device) {
  static const auto devices = cuda_devices();  // asking takes milliseconds
  if (std::none_of(devices.begin(), devices.end(),
                   [&](const CudaDevice& d) { return d.index == device; })) {
    throw Error(ExitCode::device, "--device cuda:" + std::to_string(device) + ": no such device (" +
                                      std::to_string(devices.size()) + " usable here)");
  }
  check_cuda(cudaSetDevice(device), "choosing the device");
  return device;
}

// "NVIDIA H200"
inline std::string device_model(int device) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "asking for the device's name");
  return properties.name;
}

}  // namespace rewise

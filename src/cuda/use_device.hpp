// Selecting the device of an engine.
#pragma once

#include <cuda_runtime_api.h>

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "src/base/error.hpp"
#include "src/cuda/check.hpp"
#include "src/cuda/devices.hpp"

namespace rewise {

// Makes the device current and returns its index. Throws Error(device) if there is none.
inline int use_device(int device) {
  require_device(device);
  check_cuda(cudaSetDevice(device), "choosing the device");
  return device;
}

// Lets `device`, which is current, access the memory of another device. Returns whether it can.
inline bool reach_peer(int device, int other) {
  if (device == other) return true;
  int reaches = 0;
  check_cuda(cudaDeviceCanAccessPeer(&reaches, device, other), "querying access to a peer");
  if (reaches == 0) return false;
  // Access is enabled once per process: a second call is an error, which tools such as
  // compute-sanitizer report.
  static std::mutex guard;
  static std::set<std::pair<int, int>> reached;
  const std::lock_guard lock(guard);
  if (!reached.emplace(device, other).second) return true;
  const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();
  } else {
    check_cuda(status, "enabling access to a peer");
  }
  return true;
}

// The name of the device, such as "NVIDIA H200".
inline std::string device_model(int device) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "querying the device's name");
  return properties.name;
}

}  // namespace rewise

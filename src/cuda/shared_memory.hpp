// Dynamic shared memory beyond 48 KiB, for which a kernel needs an attribute.
#pragma once

#include <cuda_runtime_api.h>

#include <mutex>
#include <set>
#include <utility>

#include "src/cuda/check.hpp"

namespace rewise {

// Allows a kernel to use the maximum shared memory per block of the current device. The attribute
// is set once per kernel and device, not at every launch: with driver 580.159, a thread that sets
// it can deadlock with threads that end or destroy CUDA graphs.
template <class... Parameters>
void allow_shared_memory(void (*kernel)(Parameters...)) {
  static std::mutex mutex;
  static auto& granted = *new std::set<std::pair<int, void (*)(Parameters...)>>;
  int device = 0, most = 0;
  check_cuda(cudaGetDevice(&device));
  const std::lock_guard lock(mutex);
  if (granted.contains({device, kernel})) return;
  cudaFuncAttributes own{};
  check_cuda(cudaFuncGetAttributes(&own, kernel));
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  most - static_cast<int>(own.sharedSizeBytes)));
  granted.emplace(device, kernel);
}

}  // namespace rewise

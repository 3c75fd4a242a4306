// Dynamic shared memory beyond 48 KiB, which a kernel must be granted before it asks for it.
#pragma once

#include <cuda_runtime_api.h>

#include <mutex>
#include <set>
#include <utility>

#include "src/cuda/check.hpp"

namespace rewise {

// Grants a kernel all that the current device has for a block. Asked of CUDA once for each kernel
// and device, not at every launch: in its driver (580.159) a thread that sets a kernel's attribute
// and threads that end, or that give captured work back, can wait for one another for ever.
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

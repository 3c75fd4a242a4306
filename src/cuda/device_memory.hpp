// Memory allocation for DeviceBuffer. cudaFree waits for all work on the device, including that of
// other threads. Memory therefore comes from the device's pool if several threads use the device.
// The pool keeps freed memory for later allocations. A thread frees memory only after its own work
// on it is done.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>

#include "src/cuda/check.hpp"

namespace rewise {

// While an object exists, buffers made by its thread come from the pool of the current device, if
// there is one. The owner of the buffers must wait for its streams before it destroys them.
class PooledMemory {
 public:
  PooledMemory() { ++depth(); }
  ~PooledMemory() { --depth(); }
  PooledMemory(const PooledMemory&) = delete;
  PooledMemory& operator=(const PooledMemory&) = delete;

  static bool wanted() {
    int device = 0, has = 0;
    return depth() > 0 && cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&has, cudaDevAttrMemoryPoolsSupported, device) == cudaSuccess &&
           has != 0;
  }

 private:
  static int& depth() {
    thread_local int depth = 0;
    return depth;
  }
};

// The memory pool of the current device.
inline cudaError_t current_pool(cudaMemPool_t& pool) {
  int device = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess) status = cudaDeviceGetDefaultMemPool(&pool, device);
  return status;
}

// Allocates by cudaMalloc on the current device; if necessary, unused memory of the pool is
// released.
inline cudaError_t take_from_device(void*& memory, std::size_t bytes) {
  cudaError_t status = cudaMalloc(&memory, bytes);
  cudaMemPool_t pool = nullptr;
  if (status == cudaErrorMemoryAllocation && current_pool(pool) == cudaSuccess &&
      cudaMemPoolTrimTo(pool, 0) == cudaSuccess) {
    cudaGetLastError();
    status = cudaMalloc(&memory, bytes);
  }
  return status;
}

// The stream of the current device for allocations from its pool; never destroyed. It is not a
// per-thread stream, because the driver destroys those when their thread ends.
inline cudaError_t pool_stream(cudaStream_t& stream) {
  static std::mutex mutex;
  static auto& streams = *new std::map<int, cudaStream_t>;
  int device = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status != cudaSuccess) return status;
  const std::lock_guard lock(mutex);
  const auto known = streams.find(device);
  if (known != streams.end()) {
    stream = known->second;
    return status;
  }
  status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (status == cudaSuccess) streams.emplace(device, stream);
  return status;
}

// Allocates from the pool, which keeps up to a quarter of the device's memory. The memory may be
// used on any stream when this returns.
inline cudaError_t take_from_pool(void*& memory, std::size_t bytes) {
  cudaMemPool_t pool = nullptr;
  cudaError_t status = current_pool(pool);
  std::uint64_t keeps = 0;
  if (status == cudaSuccess) {
    status = cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keeps);
  }
  if (status == cudaSuccess && keeps == 0) {
    std::size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    keeps = std::max<std::size_t>(total / 4, 1);
    status = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keeps);
  }
  cudaStream_t stream = nullptr;
  if (status == cudaSuccess) status = pool_stream(stream);
  if (status == cudaSuccess) status = cudaMallocFromPoolAsync(&memory, bytes, pool, stream);
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
  return status;
}

// Frees memory of the pool. While an exception is in flight, work on the memory may not have ended,
// so the device is synchronised first.
inline cudaError_t return_to_pool(void* memory) {
  cudaPointerAttributes attributes{};
  int current = 0;
  cudaError_t status = cudaPointerGetAttributes(&attributes, memory);
  if (status == cudaSuccess) status = cudaGetDevice(&current);
  if (status == cudaSuccess && attributes.device != current)
    status = cudaSetDevice(attributes.device);
  if (status == cudaSuccess && std::uncaught_exceptions() > 0) status = cudaDeviceSynchronize();
  cudaStream_t stream = nullptr;
  if (status == cudaSuccess) status = pool_stream(stream);
  if (status == cudaSuccess) status = cudaFreeAsync(memory, stream);
  if (attributes.device != current) cudaSetDevice(current);
  return status;
}

// The number of items of `each` bytes that fit into `free` bytes beside `fixed` bytes. Leaves a
// quarter of the room unused, unless `least` items need it.
inline std::uint64_t items_in(std::uint64_t free, std::uint64_t fixed, std::uint64_t each,
                              std::uint64_t least) {
  const std::uint64_t all = free > fixed ? (free - fixed) / each : 0;
  return std::max(all * 3 / 4, std::min(all, least));
}

}  // namespace rewise

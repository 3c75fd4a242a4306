// Owner of device memory: DeviceBuffer<T> holds `size` elements on the device that is current at
// construction. Move-only. Kernels receive view() by value.
//
// Memory is never managed memory. It comes from cudaMalloc or, if several threads use a device,
// from its pool (device_memory.hpp). Allocation and release may wait for all work on the device, so
// buffers are created before an update loop. Every copy names its stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <cuda/std/span>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/error.hpp"
#include "src/cuda/check.hpp"
#include "src/cuda/device_memory.hpp"

namespace rewise {

// Thrown if the device has less free memory than requested.
class DeviceMemoryShort : public Error {
 public:
  explicit DeviceMemoryShort(const std::string& what) : Error(ExitCode::device, what) {}
};

template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory holds plain data");

 public:
  DeviceBuffer() = default;
  // Not initialised. Throws DeviceMemoryShort; its message has the requested and the free bytes.
  explicit DeviceBuffer(std::size_t size,
                        std::source_location where = std::source_location::current())
      : size_(size) {
    if (size > std::numeric_limits<std::size_t>::max() / sizeof(T)) {
      throw Error(ExitCode::internal, "DeviceBuffer: a size that overflows");
    }
    if (size != 0) allocate(where);
  }
  // A copy of `host`, which must not change before `stream` is synchronised.
  DeviceBuffer(std::span<const T> host, cudaStream_t stream,
               std::source_location where = std::source_location::current())
      : DeviceBuffer(host.size(), where) {
    copy_in(host, stream, 0, where);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        pooled_(other.pooled_) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(pooled_, other.pooled_);
    return *this;
  }
  ~DeviceBuffer() {
    const cudaError_t status = data_ == nullptr ? cudaSuccess
                               : pooled_        ? return_to_pool(data_)
                                                : cudaFree(data_);
    if (status != cudaSuccess) {
      std::fprintf(stderr, "rewise: releasing device memory: %s\n", cudaGetErrorString(status));
    }
  }

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  cuda::std::span<T> view() { return {data_, size_}; }
  cuda::std::span<const T> view() const { return {data_, size_}; }

  // Queues a copy from the host to elements [first, first + host.size()). `host` must not change
  // before `stream` is synchronised.
  void copy_in(std::span<const T> host, cudaStream_t stream, std::size_t first = 0,
               std::source_location where = std::source_location::current()) {
    check_range(host.size(), first);
    if (host.empty()) return;
    check_cuda(cudaMemcpyAsync(data_ + first, host.data(), host.size_bytes(),
                               cudaMemcpyHostToDevice, stream),
               "copying to the device", where);
  }
  // Queues a copy to the host; `host` is valid after `stream` is synchronised.
  void copy_out(std::span<T> host, cudaStream_t stream, std::size_t first = 0,
                std::source_location where = std::source_location::current()) const {
    check_range(host.size(), first);
    if (host.empty()) return;
    check_cuda(cudaMemcpyAsync(host.data(), data_ + first, host.size_bytes(),
                               cudaMemcpyDeviceToHost, stream),
               "copying from the device", where);
  }
  // Copies everything to the host and waits for the stream.
  std::vector<T> to_host(cudaStream_t stream,
                         std::source_location where = std::source_location::current()) const {
    std::vector<T> host(size_);
    copy_out(host, stream, 0, where);
    check_cuda(cudaStreamSynchronize(stream), "copying from the device", where);
    return host;
  }
  // Queues setting all bytes to zero.
  void clear(cudaStream_t stream, std::source_location where = std::source_location::current()) {
    if (size_ != 0) check_cuda(cudaMemsetAsync(data_, 0, bytes(), stream), "clearing", where);
  }

 private:
  void allocate(const std::source_location& where) {
    void* memory = nullptr;
    pooled_ = PooledMemory::wanted();
    const cudaError_t status =
        pooled_ ? take_from_pool(memory, bytes()) : take_from_device(memory, bytes());
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      std::size_t free = 0, total = 0;
      cudaMemGetInfo(&free, &total);
      throw DeviceMemoryShort("the device's memory is too small: " + std::to_string(bytes()) +
                              " bytes wanted, " + std::to_string(free) + " of " +
                              std::to_string(total) + " free");
    }
    check_cuda(status, "allocating device memory", where);
    data_ = static_cast<T*>(memory);
  }
  void check_range(std::size_t count, std::size_t first) const {
    if (first > size_ || count > size_ - first) {
      throw Error(ExitCode::internal, "DeviceBuffer: elements " + std::to_string(first) + " + " +
                                          std::to_string(count) + " of " + std::to_string(size_));
    }
  }

  T* data_ = nullptr;     // [size_], on the device
  std::size_t size_ = 0;  // elements
  bool pooled_ = false;
};

}  // namespace rewise

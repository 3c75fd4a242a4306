// Owner of page-locked host memory. Copies between such memory and a device run at full speed. The
// elements are uninitialised. Move-only. Allocation takes about a millisecond per 4 MiB, so create
// a buffer once and reuse it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <span>
#include <type_traits>
#include <utility>

#include "src/cuda/check.hpp"

namespace rewise {

template <class T>
class PinnedBuffer {
  static_assert(std::is_trivially_copyable_v<T>, "copies to devices are bytewise");

 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* memory = nullptr;
    check_cuda(cudaMallocHost(&memory, size * sizeof(T)), "allocating page-locked memory");
    data_ = static_cast<T*>(memory);
  }
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PinnedBuffer() {
    const cudaError_t status = data_ == nullptr ? cudaSuccess : cudaFreeHost(data_);
    if (status != cudaSuccess) {
      std::fprintf(stderr, "rewise: releasing page-locked memory: %s\n",
                   cudaGetErrorString(status));
    }
  }

  std::size_t size() const { return size_; }
  std::span<T> view() { return {data_, size_}; }
  std::span<const T> view() const { return {data_, size_}; }

 private:
  T* data_ = nullptr;  // [size_]
  std::size_t size_ = 0;
};

}  // namespace rewise

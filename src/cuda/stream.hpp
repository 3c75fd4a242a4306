// Owner of a CUDA stream. Every copy and launch of rewise names its stream; the default stream is
// never used. Move-only; kernels and buffers take the bare handle, get().
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "src/cuda/check.hpp"

namespace rewise {

class CudaStream {
 public:
  CudaStream() { check_cuda(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking)); }
  // A stream whose blocks are scheduled before those of other streams.
  static CudaStream urgent() {
    int least = 0, greatest = 0;
    CudaStream stream(nullptr);
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    check_cuda(cudaStreamCreateWithPriority(&stream.handle_, cudaStreamNonBlocking, greatest));
    return stream;
  }
  CudaStream(CudaStream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  CudaStream& operator=(CudaStream&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CudaStream() {
    if (handle_ != nullptr) cudaStreamDestroy(handle_);  // takes effect after the queued work
  }

  cudaStream_t get() const { return handle_; }
  // Waits for all work queued on the stream and throws its errors.
  void wait(std::source_location where = std::source_location::current()) const {
    check_cuda(cudaStreamSynchronize(handle_), "waiting for the device", where);
  }

 private:
  explicit CudaStream(cudaStream_t handle) : handle_(handle) {}

  cudaStream_t handle_ = nullptr;
};

}  // namespace rewise

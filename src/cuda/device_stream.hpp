// A CUDA device and the stream on which its owner queues all of its work.
#pragma once

#include "src/cuda/stream.hpp"
#include "src/cuda/use_device.hpp"

namespace rewise {

class DeviceStream {
 public:
  // Makes the device current. Throws Error(device) if there is no such device.
  explicit DeviceStream(int device) : device_(use_device(device)) {}

  int device() const { return device_; }
  cudaStream_t get() const { return stream_.get(); }
  // Makes the device current for the calling thread.
  void use() const { check_cuda(cudaSetDevice(device_), "choosing the device"); }
  // Waits for all queued work and throws its errors.
  void wait() const { stream_.wait(); }
  // Waits for all work on the device, since other code may be reading memory of the owner.
  void wait_for_readers() const {
    use();
    check_cuda(cudaDeviceSynchronize(), "waiting for readers of spins");
  }
  // wait() without throwing, for destructors of memory that queued work uses.
  void finish() const noexcept {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_.get());
  }

 private:
  const int device_;
  const CudaStream stream_;
};

}  // namespace rewise

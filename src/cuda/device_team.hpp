// CUDA devices that work on one thing together: one thread of the host queues work on a stream of
// each, and barriers at which all of them wait for all. They reach each other's memory. A device
// may be in a team more than once (tests do that where there is only one). One device is a team of
// one, for which all of this costs nothing.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <utility>
#include <vector>

#include "src/base/error.hpp"
#include "src/cuda/graph.hpp"
#include "src/cuda/stream.hpp"
#include "src/cuda/use_device.hpp"

namespace rewise {

class DeviceTeam {
 public:
  // Error(device) where a device does not exist, or cannot reach the memory of another or work
  // there by atomic operations.
  explicit DeviceTeam(std::vector<int> devices) : devices_(std::move(devices)) {
    for (const int device : devices_) {
      use_device(device);
      check_cuda(cudaFree(nullptr), "starting the device");
      streams_.emplace_back();
      events_.emplace_back();
      for (const int other : devices_) join_peer(device, other);
    }
  }

  const std::vector<int>& devices() const { return devices_; }
  std::size_t size() const { return devices_.size(); }
  cudaStream_t stream(std::size_t part) const { return streams_[part].get(); }
  void use(std::size_t part) const {
    check_cuda(cudaSetDevice(devices_[part]), "choosing the device");
  }

  // Calls f(part, stream) with the part's device current, in order. That of a team of one has to be
  // current already.
  template <class F>
  void for_each(F&& f) const {
    for (std::size_t part = 0; part < size(); ++part) {
      if (size() > 1) use(part);
      f(part, stream(part));
    }
  }

  // All that is queued from here on waits for all that has been queued.
  void barrier() const {
    if (size() == 1) return;
    for_each([&](std::size_t part, cudaStream_t on) { events_[part].record(on); });
    for_each([&](std::size_t part, cudaStream_t on) {
      for (std::size_t other = 0; other < size(); ++other) {
        if (other != part) events_[other].hold(on);
      }
    });
  }

  // Waits whatever has happened; for owners of memory that queued work uses.
  void finish() const noexcept {
    for (std::size_t part = 0; part < size(); ++part) {
      cudaSetDevice(devices_[part]);
      cudaStreamSynchronize(streams_[part].get());
    }
  }

  // The host waits for all of them.
  void wait() const {
    for_each([&](std::size_t part, cudaStream_t) { streams_[part].wait(); });
  }

 private:
  static void join_peer(int device, int other) {
    if (device == other) return;
    const bool reaches = reach_peer(device, other);
    int atomics = 0;
    check_cuda(
        cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, device, other),
        "asking for peers");
    if (reaches && atomics != 0) return;
    throw Error(ExitCode::device,
                "cuda:" + std::to_string(device) +
                    (reaches ? " has no atomic operations in the memory of cuda:"
                             : " cannot reach the memory of cuda:") +
                    std::to_string(other) +
                    ": they cannot share a system (devices joined by NVLink can)");
  }

  std::vector<int> devices_;
  std::vector<CudaStream> streams_;
  std::vector<CudaEvent> events_;
};

}  // namespace rewise

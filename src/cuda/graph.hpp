// Owners of CUDA graphs and events, and a side branch of a stream.
//
// A CUDA graph is work that is captured once and replayed by a single call. Capture records the
// work queued on a stream, and on streams that wait for it, without running it. Do not wait for the
// device or allocate device memory during capture.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "src/cuda/check.hpp"
#include "src/cuda/stream.hpp"

namespace rewise {

// Move-only.
class CudaGraph {
 public:
  // Captures the work that `queue()` queues on `stream`.
  template <class F>
  CudaGraph(cudaStream_t stream, const F& queue) {
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing work");
    cudaGraph_t graph = nullptr;
    try {
      queue();
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      throw;
    }
    check_cuda(cudaStreamEndCapture(stream, &graph), "capturing work");
    const cudaError_t status = cudaGraphInstantiate(&handle_, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(status, "making a graph of captured work");
  }
  CudaGraph(CudaGraph&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  CudaGraph& operator=(CudaGraph&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CudaGraph() {
    if (handle_ != nullptr) cudaGraphExecDestroy(handle_);
  }

  void launch(cudaStream_t stream) const {
    check_cuda(cudaGraphLaunch(handle_, stream), "replaying captured work");
  }

 private:
  cudaGraphExec_t handle_ = nullptr;
};

// A point in a stream. Move-only.
class CudaEvent {
 public:
  // `timed`: enables seconds_since().
  explicit CudaEvent(bool timed = false) {
    check_cuda(
        cudaEventCreateWithFlags(&handle_, timed ? cudaEventDefault : cudaEventDisableTiming));
  }
  CudaEvent(CudaEvent&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  CudaEvent& operator=(CudaEvent&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CudaEvent() {
    if (handle_ != nullptr) cudaEventDestroy(handle_);
  }

  void record(cudaStream_t stream) const { check_cuda(cudaEventRecord(handle_, stream)); }
  // Work queued on `stream` from here on waits for the recorded point.
  void make_stream_wait(cudaStream_t stream) const {
    check_cuda(cudaStreamWaitEvent(stream, handle_, 0));
  }
  // Blocks the host until the point is reached. Throws errors of the work before it.
  void wait() const { check_cuda(cudaEventSynchronize(handle_), "waiting for the device"); }
  // Both events must be timed, recorded and reached.
  double seconds_since(const CudaEvent& start) const {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, start.handle_, handle_));
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t handle_ = nullptr;
};

// A side branch of a stream: begin() starts it after the work queued on the stream so far, join()
// makes the stream wait for it. Within a capture it is a branch of the graph.
class CudaBranch {
 public:
  cudaStream_t begin(cudaStream_t stream) const {
    begun_.record(stream);
    begun_.make_stream_wait(side_.get());
    return side_.get();
  }
  void join(cudaStream_t stream) const {
    done_.record(side_.get());
    done_.make_stream_wait(stream);
  }

 private:
  CudaStream side_;
  CudaEvent begun_, done_;
};

}  // namespace rewise

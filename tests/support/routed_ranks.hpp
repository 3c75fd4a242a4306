// Ranks that are threads of the test. Their CUDA devices exchange data by a route that the test
// selects.
#pragma once

#if defined(REWISE_HAVE_CUDA)
#include <cuda_runtime_api.h>
#endif

#include <functional>
#include <utility>
#include <vector>

#include "tests/support/run_ranks.hpp"

namespace rewise::oracle {

#if defined(REWISE_HAVE_CUDA)
// Behaves like CUDA-aware MPI: accepts device addresses.
class OnDevices final : public distributed::Transport {
 public:
  explicit OnDevices(Transport& within) : within_(within) {
    rank_ = within.rank();
    size_ = within.size();
    set_device_route(distributed::DeviceRoute::direct);
  }
  bool one_process() const override { return true; }
  bool takes_device_memory() const override { return true; }
  void post_send(int to, int tag, std::span<const std::uint8_t> bytes) override {
    std::vector<std::uint8_t> host(bytes.size());
    cudaMemcpy(host.data(), bytes.data(), bytes.size(), cudaMemcpyDefault);
    within_.post_send(to, tag, host);  // copies the data
  }
  void post_receive(int from, int tag, std::span<std::uint8_t> bytes) override {
    coming_.push_back({bytes, std::vector<std::uint8_t>(bytes.size())});
    within_.post_receive(from, tag, coming_.back().second);
  }
  void wait() override {
    within_.wait();
    for (const auto& [to, host] : std::exchange(coming_, {})) {
      cudaMemcpy(to.data(), host.data(), host.size(), cudaMemcpyDefault);
    }
    // From memory that is not page-locked, cudaMemcpy may return before the bytes have arrived, and
    // the streams of the engines do not wait for the default stream.
    cudaStreamSynchronize(nullptr);
  }
  void abort(const Error& error) override { within_.abort(error); }

 private:
  Transport& within_;
  std::vector<std::pair<std::span<std::uint8_t>, std::vector<std::uint8_t>>> coming_;
};
#endif

inline void run_routed(int size, distributed::DeviceRoute route,
                       const std::function<void(distributed::Transport&)>& f) {
  distributed::run_ranks(size, [&](distributed::Transport& transport) {
#if defined(REWISE_HAVE_CUDA)
    if (route == distributed::DeviceRoute::direct) {
      OnDevices on_devices(transport);
      return f(on_devices);
    }
#endif
    transport.set_device_route(route);
    f(transport);
  });
}

}  // namespace rewise::oracle

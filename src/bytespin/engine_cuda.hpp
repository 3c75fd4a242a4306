// The bytespin engine on a CUDA device. The kernels of all replicas are queued on one stream. The
// host waits at the end of each advance() and when a caller needs results.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/bytespin/bytespin_engine.hpp"
#include "src/bytespin/cluster_updater_cuda.hpp"
#include "src/bytespin/device_graph_cuda.hpp"
#include "src/cuda/device_stream.hpp"

namespace rewise::bytespin {

// Waits for queued work before the memory that it uses is freed.
struct WaitAtEnd {
  const DeviceStream& device;
  ~WaitAtEnd() { device.finish(); }
};

// Memory, steps and spins of the engines with and without interactions. The last member of a
// derived class is a WaitAtEnd.
class CudaEngine : public BytespinEngine {
 public:
  std::string_view device() const final { return device_name_; }
  int threads() const final { return 1; }
  bool advance(const Schedule& schedule, std::uint64_t cycles) final;

 protected:
  CudaEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options);

  // Allocates the memory common to all engines, and sets the initial spins. Called by constructors,
  // before they allocate `more_bytes` of their own. Throws Error(device) if the memory is too
  // small.
  void start(std::uint64_t more_bytes);

  // These queue work for all replicas and the step on_device_.step.
  virtual void sweep() = 0;
  virtual std::unique_ptr<ClusterUpdaterCuda> make_cluster_updater() const = 0;
  // Makes the closing steps of a cycle and advances on_device_.step.
  virtual void close_cycle(const Schedule&) {}

  cudaStream_t stream() const { return device_.get(); }
  // Made when it is first needed.
  ClusterUpdaterCuda& clusters() {
    if (!clusters_) clusters_ = make_cluster_updater();
    return *clusters_;
  }
  // Queues a measurement of all replicas (launch_measure()), with results in measured_.
  void queue_measurement();
  // Measures all replicas and waits. Both are [replicas].
  struct Counts {
    std::vector<unsigned long long> unequal;  // bonds between unequal spins
    std::vector<unsigned long long> largest;  // spins that point up; Potts: sites in the main state
  };
  Counts count_spins();

  const EngineOptions options_;
  const DeviceStream device_;
  std::unique_ptr<DeviceGraph> graph_;
  DeviceBuffer<std::uint8_t> spins_;  // [replicas][stride]
  // `unequal` and `counts` of launch_measure(): [replicas], then [replicas][measured_counts()]
  DeviceBuffer<unsigned long long> measured_;
  DeviceReplicas on_device_;

 private:
  void run(const Schedule& schedule, std::uint64_t cycles);
  // Adds the cluster sums on the device to those on the host; waits for the device. Returns the
  // number of sites of the clusters found (undefined for Swendsen-Wang).
  std::uint64_t fetch_sums();
  void read_part(std::size_t replica, std::span<std::uint8_t> out) const final;
  void write_part(std::size_t replica, Bytes spins) final;

  const std::string device_name_;
  DeviceBuffer<unsigned long long> sums_;  // DeviceReplicas::pending, then ::quartic
  std::unique_ptr<ClusterUpdaterCuda> clusters_;
};

// For the ferromagnet. Runs on options.device. Throws Error(device) if it does not exist or has too
// little memory (the message says how much is needed and what to reduce), Error(usage) for a method
// that runs on CPUs only.
std::unique_ptr<Engine> make_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                         const EngineOptions& options);

}  // namespace rewise::bytespin

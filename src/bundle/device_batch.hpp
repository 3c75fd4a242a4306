// The graphs of a batch on one CUDA device, with their spins: queues the kernels of whole ranges of
// graphs on one stream and waits only where a caller needs numbers.
//
// A few cycles are captured once, with step numbers counted from a number on the device, and
// replayed: a sweep costs the host nothing. Within them small systems do their sweeps in a row in a
// block's shared memory; of others the regular and the modified cells of a colour run side by side.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "src/bundle/device_graphs.hpp"
#include "src/bundle/swendsen_wang/device_swendsen_wang.hpp"
#include "src/bundle/wolff/device_wolff.hpp"
#include "src/cuda/graph.hpp"
#include "src/cuda/pinned_buffer.hpp"
#include "src/engine/device_spins.hpp"
#include "src/engine/device_sums.hpp"
#include "src/engine/pieces.hpp"

namespace rewise::bundle {

class DeviceBatch {
 public:
  // Error(device) where the device's memory is too small: how much is needed, what to reduce.
  // What `engines` refer to must outlive the batch's work.
  DeviceBatch(std::vector<EngineView> engines, const EngineOptions& options);
  ~DeviceBatch();

  int device() const { return device_; }
  const EngineOptions& options() const { return options_; }
  Pace pace;  // of whatever ran last
  std::uint32_t graphs() const { return graphs_->graphs(); }

  // Queues `cycles` cycles of a range of graphs from step `step` on.
  void run(const GraphRange& range, std::uint32_t step, const Schedule& schedule,
           std::uint64_t cycles);

  // Sums of one measurement of the whole batch, [replicas of the batch] each; those of graphs that
  // were not measured are zero. Valid until the next fetch.
  struct Sums {
    const unsigned long long *disagreeing, *up;  // bonds, spins
    // Null where there were none: sites flipped by Wolff updates; or of Swendsen-Wang updates sum
    // n^2, the halves of 3 (sum n^2)^2 - 2 sum n^4, and with weights sum n w and sum w^2.
    const unsigned long long *clusters, *quartic_low, *quartic_high, *cross, *weight_square;
  };
  // Queues a measurement into slot `slot`, which takes over the cluster sums so far.
  static constexpr std::size_t kSlots = 16;
  void measure(const GraphRange& range, std::size_t slot);
  // Cluster sums alone.
  void close_clusters(const GraphRange& range, std::size_t slot);
  // Waits, and empties the first `slots` slots.
  std::vector<Sums> fetch(std::size_t slots);
  // The device's time for the last measurement into slot 0 that was fetched.
  double measure_seconds() const { return measured_.seconds_since(measuring_); }
  void wait();
  cudaStream_t stream() const { return stream_.get(); }

  // One bundle's words, in slot order; `bundle` counts through the batch. They wait.
  void read_words(std::size_t bundle, std::span<std::uint32_t> out);
  void write_words(std::size_t bundle, std::span<const std::uint32_t> words);
  // All bundles of a graph.
  DeviceSpins device_spins(std::uint32_t graph);
  // Waits. [2][replicas of a graph] on the device, until the next call: HasDeviceSpins.
  std::int64_t* measure_on_device(std::uint32_t graph, const SumUnits& units);
  void wait_for_readers() const {
    choose();
    check_cuda(cudaDeviceSynchronize(), "waiting for readers of spins");
  }

 private:
  void check_memory() const;
  void begin_piece();  // what the device is busy with until the next wait(), for a profile
  void prepare_clusters(const GraphRange& range, std::uint64_t updates);
  void replay(const GraphRange& range, const Schedule& schedule, std::uint64_t cycles);
  const CudaGraph& captured(const GraphRange& range, const Schedule& schedule,
                            std::uint32_t cycles);
  void queue_cycles(const GraphRange& range, const Schedule& schedule, std::uint32_t cycles);
  void queue_sweeps(const GraphRange& range, std::uint32_t step, std::uint32_t count);
  void queue_sweep(const GraphRange& range, std::uint32_t step);
  bool is_swendsen_wang() const {
    return engines_.front().spec.cluster == ClusterUpdate::swendsen_wang;
  }
  // Launches, about, of the cluster updates of a cycle.
  std::uint32_t cluster_launches(std::uint32_t updates) const;
  // Where a kind of sums of a slot begins, in the order of Sums.
  static constexpr std::size_t kKinds = 7;
  std::size_t kinds() const {  // that are in use
    return swendsen_wang_ ? 2 + swendsen_wang_->kinds() : wolff_ ? 3 : 2;
  }
  std::size_t place(std::size_t slot, std::size_t kind) const {
    return (slot * kKinds + kind) * replicas_;
  }
  std::uint32_t* bundle_words(std::size_t bundle);
  void choose() const { check_cuda(cudaSetDevice(device_)); }

  const EngineOptions options_;
  const int device_;
  const std::vector<EngineView> engines_;
  CudaStream stream_;
  CudaBranch branch_;  // modified cells, beside the regular ones
  CudaEvent measuring_{true}, measured_{true}, begun_{true}, ended_{true};
  bool busy_ = false;  // begun_ is recorded
  bool lent_ = false;  // spins, to readers outside
  std::unique_ptr<DeviceGraphs> graphs_;
  std::unique_ptr<DeviceWolffBatch> wolff_;
  std::unique_ptr<SwendsenWangBatch> swendsen_wang_;
  std::size_t replicas_ = 0;  // of the whole batch
  DeviceBuffer<std::uint32_t> spins_, step_, apart_;
  std::optional<std::uint32_t> next_step_;    // what step_ will hold after what is queued
  DeviceBuffer<unsigned long long> sums_;     // [kSlots][kKinds][replicas]
  DeviceBuffer<unsigned long long> counted_;  // once measure_on_device() was called: [2][replicas]
  DeviceBuffer<std::int64_t> of_graph_;       // of a graph, the sums from these
  PinnedBuffer<unsigned long long> fetched_;  // likewise, on the host; or more
  std::map<std::tuple<GraphRange, std::uint32_t, std::uint32_t, std::uint32_t, unsigned>, CudaGraph>
      captured_;  // by range, M, W, cycles and forms of Wolff updates
};

}  // namespace rewise::bundle

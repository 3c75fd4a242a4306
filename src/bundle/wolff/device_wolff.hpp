// The Wolff updates of a batch on the device (wolff_cuda.hpp): the graphs as they read them, the
// replicas' planes, what a launch needs besides. Memory: as much again as the spins, 64 bytes
// per special site, and the blocks' pools.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/bundle/device_graphs.hpp"
#include "src/bundle/wolff/wolff_cuda.hpp"
#include "src/bundle/wolff/wolff_dense_device.hpp"
#include "src/engine/engine.hpp"

namespace rewise::bundle {

class DeviceWolffBatch {
 public:
  // Waits for the stream. Error(device) where the memory that is left is too small.
  // `engines` outlive it; of the options, the device and the form count.
  DeviceWolffBatch(std::span<const EngineView> engines, const DeviceGraphs& graphs,
                   const EngineOptions& options, cudaStream_t stream);

  // What queue() queues depends on: what is captured serves as long as this stays.
  unsigned mix() const { return mix_; }
  // About how many sweeps' worth of launches these updates are.
  std::uint32_t launches(std::uint32_t updates) const { return mix_ == kSparse ? 1 : updates; }

  // Queues `updates` updates of a range of graphs, steps *first_step + step and on.
  void queue(const GraphRange& range, const std::uint32_t* first_step, std::uint32_t step,
             std::uint32_t updates, std::uint32_t* spins, cudaStream_t stream);

  // Updates of a range of graphs that will have been done when learn() is called.
  void count(const GraphRange& range, std::uint64_t updates);
  // Chooses forms by the sites [replicas of the batch] that those updates flipped.
  void learn(std::span<const unsigned long long> flipped, cudaStream_t stream);

  // [replicas of the batch] sites flipped since they were last cleared.
  DeviceBuffer<unsigned long long>& flipped() { return flipped_; }

 private:
  // Every cluster sparse; every one dense; by bundle; by the limit.
  static constexpr unsigned kSparse = 0, kDense = 1, kBoth = 2, kLimit = 3;

  void lay_graphs(cudaStream_t stream);
  void make_room(cudaStream_t stream);
  void queue_sparse(const GraphRange& range, const std::uint32_t* first_step, std::uint32_t step,
                    std::uint32_t updates, std::uint32_t* spins, bool continues,
                    cudaStream_t stream);

  const std::span<const EngineView> engines_;
  const DeviceGraphs& graphs_;
  const EngineOptions options_;
  const std::uint32_t replicas_;  // of the whole batch
  DeviceWolff wolff_;
  WolffLaunch plan_;
  DeviceBuffer<std::uint32_t> bond_threshold_, planes_;
  DeviceBuffer<uint2> special_, row_, more_, pool_;
  DeviceBuffer<DeviceWolffGraph> wolff_graphs_;
  DeviceBuffer<unsigned long long> flipped_;
  DeviceBuffer<unsigned> progress_;
  unsigned mix_ = kSparse;
  std::unique_ptr<DenseWolffBatch> dense_;
  bool dense_fits_ = true;
  std::uint32_t limit_ = 0;
  std::vector<std::uint64_t> updates_;                                    // [graphs] since learn()
  std::vector<std::uint32_t> dense_bundles_;                              // [bundles] 0 or all ones
  DeviceBuffer<std::uint32_t> forms_, stopped_, later_, active_, trail_;  // forms: the same
};

}  // namespace rewise::bundle

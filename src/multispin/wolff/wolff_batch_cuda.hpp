// Wolff updates of a batch of graphs on the device. Owns the graphs in the layout that these
// updates need, and their working memory. Chooses between the sparse form (wolff_cuda.hpp) and the
// dense form (wolff_dense_cuda.hpp) for each word group.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/cuda/device_arrays.hpp"
#include "src/engine/engine.hpp"
#include "src/multispin/device_graphs_cuda.hpp"
#include "src/multispin/wolff/wolff_cuda.hpp"
#include "src/multispin/wolff/wolff_dense_cuda.hpp"

namespace rewise::multispin {

// Owns the memory of dense updates: the tiles of the graphs, and working memory for as many word
// groups at a time as fit.
class DenseWolffBatch {
 public:
  // Waits for the stream. Throws Error(device) if the free memory is less than least_bytes().
  DenseWolffBatch(std::span<const EngineView> engines, const DeviceGraphs& graphs, int device,
                  cudaStream_t stream);

  // Bytes of working memory for the few_of(vec) word groups that are updated together.
  static std::uint64_t least_bytes(const EngineView& engine, int vec);

  // Queues updates of a range of graphs. `first`: the first update, of the whole batch.
  void queue(const GraphRange& range, const WolffRun& first, std::uint32_t updates,
             cudaStream_t stream);

 private:
  void lay_graphs(std::span<const EngineView> engines, cudaStream_t stream);
  void make_room(int device, cudaStream_t stream);

  const DeviceGraphs& graphs_;
  DeviceTiles tiles_;  // of all graphs; DeviceTiles::seeds is set per launch
  DenseWolffArgs run_;
  std::uint32_t group_ = 0;
  DeviceArrays memory_;  // to which tiles_ and run_ point
};

// Chooses the form of each word group; with couplings or a field all are dense. Owns the memory of
// sparse updates: the graphs, the planes of the replicas and the pools of the thread blocks.
// Memory: as much as the spins, and 64 bytes per special site (wolff_cuda.hpp).
class DeviceWolffBatch {
 public:
  // Waits for the stream. Throws Error(device) if the free memory is too small. `engines` must
  // outlive this object. Uses only the device and the form of `options`.
  DeviceWolffBatch(std::span<const EngineView> engines, const DeviceGraphs& graphs,
                   const EngineOptions& options, cudaStream_t stream);

  // Which forms are in use. A CUDA graph captured from queue() is valid while this value is
  // unchanged.
  unsigned mix() const { return mix_; }
  // Approximate launch overhead of these updates, in units of that of a sweep.
  std::uint32_t launches(std::uint32_t updates) const { return mix_ == kSparse ? 1 : updates; }

  // Queues `updates` updates of a range of graphs, beginning at step *first_step + step.
  void queue(const GraphRange& range, const std::uint32_t* first_step, std::uint32_t step,
             std::uint32_t updates, std::uint32_t* spins, cudaStream_t stream);

  // Counts updates of a range of graphs that will be complete at the next call of learn().
  void count(const GraphRange& range, std::uint64_t updates);
  // Chooses the forms for the next updates. `flipped`, [replicas of the batch], is the number of
  // sites that the counted updates flipped.
  void learn(std::span<const unsigned long long> flipped, cudaStream_t stream);

  // [replicas of the batch] number of sites flipped since the buffer was cleared.
  DeviceBuffer<unsigned long long>& flipped() { return flipped_; }

 private:
  // Values of mix(): all word groups sparse, all dense, or chosen per word group.
  static constexpr unsigned kSparse = 0, kDense = 1, kBoth = 2;

  void lay_thresholds(cudaStream_t stream);
  void lay_graphs(cudaStream_t stream);
  void make_room(cudaStream_t stream);
  // Word groups with the dense form (WolffRun::active) are left out.
  void queue_sparse(const GraphRange& range, const WolffRun& first, std::uint32_t updates,
                    cudaStream_t stream);

  const std::span<const EngineView> engines_;
  const DeviceGraphs& graphs_;
  const int device_;
  const WolffForm form_;
  const std::uint32_t replicas_;  // of the whole batch
  DeviceWolff wolff_;
  WolffLaunch launch_;
  double dense_share_ = 0;  // word groups whose clusters flip a larger share of the sites are dense
  WolffRun run_;            // of the whole batch
  DeviceArrays memory_;     // of the graphs and thresholds
  const DeviceWolffGraph* wolff_graphs_ = nullptr;  // [graphs]
  DeviceBuffer<std::uint32_t> planes_;
  DeviceBuffer<uint2> pool_;
  DeviceBuffer<unsigned long long> flipped_;
  DeviceBuffer<unsigned> progress_;
  unsigned mix_ = kSparse;
  std::unique_ptr<DenseWolffBatch> dense_;
  bool dense_fits_ = true;
  std::vector<std::uint64_t> updates_;       // [graphs] number since learn()
  std::vector<std::uint32_t> dense_groups_;  // [word groups] 0 or all ones
  DeviceBuffer<std::uint32_t> forms_;        // copy of dense_groups_ on the device
};

}  // namespace rewise::multispin

// Wolff updates of a batch on the device: owns the graphs in the form that they need and their
// working memory, and decides which word groups use the sparse form (wolff_cuda.hpp) and which the
// dense form (wolff_dense_cuda.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/cuda/device_buffer.hpp"
#include "src/engine/engine.hpp"
#include "src/multispin/device_graphs.hpp"
#include "src/multispin/methods.hpp"
#include "src/multispin/wolff/wolff_cuda.hpp"
#include "src/multispin/wolff/wolff_dense_cuda.hpp"

namespace rewise::multispin {

// Owns the memory of dense updates: the tiles of the graphs, and working memory for as many word
// groups at a time as fit. Arrays are in device memory and cover the whole batch.
struct DenseUpdates {
  const std::uint32_t* first_step = nullptr;  // the first update is step *first_step + step
  std::uint32_t step = 0, updates = 1;
  const std::uint32_t* active = nullptr;  // [word groups] bits of the replicas to update; null: all
  const std::uint32_t* threshold = nullptr;  // [word groups] threshold of bonds, below kCertain
  std::uint32_t* spins = nullptr;
  unsigned long long* flipped = nullptr;  // [replicas] += flipped sites
};

class DenseWolffBatch {
 public:
  // Waits for the stream. Error(device) if the free memory is too small for one pack of word
  // groups.
  DenseWolffBatch(std::span<const EngineView> engines, const DeviceGraphs& graphs, int device,
                  cudaStream_t stream);

  // Bytes of working memory for one pack of word groups.
  static std::uint64_t least_bytes(const EngineView& engine, int vec);

  // Queues updates of a range of graphs.
  void queue(const GraphRange& range, const DenseUpdates& updates, cudaStream_t stream);

 private:
  void lay_graphs(std::span<const EngineView> engines, cudaStream_t stream);
  void make_room(int device, cudaStream_t stream);

  const DeviceGraphs& graphs_;
  DeviceTiles tiles_;  // all graphs, without seeds
  DeviceDenseRun run_;
  std::uint32_t group_ = 0;
  std::vector<std::uint64_t> seeds_;
  DeviceBuffer<std::uint32_t> bonds_, end_first_, listed_count_, seed_spin_, reached_, edge_, open_,
      open_end_, sent_, mail_, state_, entry_;
  DeviceBuffer<unsigned long long> counters_;
  DeviceBuffer<TileEnd> end_;
  DeviceBuffer<ListedBond> listed_;
};

// Chooses the form of each word group, and owns the memory of sparse updates: the graphs, the
// planes of the replicas and the pools of the blocks. Memory: that of the spins, and 64 bytes per
// special site.
class DeviceWolffBatch {
 public:
  // Waits for the stream. Error(device) if the free memory is too small. `engines` must outlive
  // this object. Of the options only the device and the form matter.
  DeviceWolffBatch(std::span<const EngineView> engines, const DeviceGraphs& graphs,
                   const EngineOptions& options, cudaStream_t stream);

  // The forms in use. A captured graph of queue() is valid as long as this value stays the same.
  unsigned mix() const { return mix_; }
  // Approximate cost of the launches of these updates, in units of those of a sweep.
  std::uint32_t launches(std::uint32_t updates) const { return mix_ == kSparse ? 1 : updates; }

  // Queues `updates` updates of a range of graphs, beginning at step *first_step + step.
  void queue(const GraphRange& range, const std::uint32_t* first_step, std::uint32_t step,
             std::uint32_t updates, std::uint32_t* spins, cudaStream_t stream);

  // Counts updates of a range of graphs that will be complete at the next call of learn().
  void count(const GraphRange& range, std::uint64_t updates);
  // Chooses the forms by the number of sites, [replicas of the batch], that these updates flipped.
  void learn(std::span<const unsigned long long> flipped, cudaStream_t stream);

  // [replicas of the batch] sites flipped since the last clear.
  DeviceBuffer<unsigned long long>& flipped() { return flipped_; }

 private:
  // All word groups sparse; all dense; chosen for each word group.
  static constexpr unsigned kSparse = 0, kDense = 1, kBoth = 2;

  void lay_graphs(cudaStream_t stream);
  void make_room(cudaStream_t stream);
  void queue_sparse(const GraphRange& range, const std::uint32_t* first_step, std::uint32_t step,
                    std::uint32_t updates, std::uint32_t* spins, const std::uint32_t* dense,
                    cudaStream_t stream);

  const std::span<const EngineView> engines_;
  const DeviceGraphs& graphs_;
  const int device_;
  const WolffForm form_;
  const std::uint32_t replicas_;  // of the whole batch
  DeviceWolff wolff_;
  WolffLaunch plan_;
  double dense_share_ = 0;  // word groups whose clusters flip a larger share of the sites are dense
  DeviceBuffer<std::uint32_t> bond_threshold_, planes_;
  DeviceBuffer<uint2> special_, row_, more_, pool_;
  DeviceBuffer<DeviceWolffGraph> wolff_graphs_;
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

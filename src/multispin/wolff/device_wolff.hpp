// The Wolff updates of a batch on the device: the graphs as they read them, working memory, and
// which word groups take the sparse form (wolff_cuda.hpp), which the dense one
// (wolff_dense_cuda.hpp).
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

// Owns what dense updates need: the tiles of the graphs, and the working memory of as many word
// groups at a time as fit. Arrays are of the whole batch, on the device.
struct DenseUpdates {
  const std::uint32_t* first_step = nullptr;  // the first update is step *first_step + step
  std::uint32_t step = 0, updates = 1;
  const std::uint32_t* active = nullptr;     // [word groups] replicas that take part, or null: all
  const std::uint32_t* threshold = nullptr;  // [word groups] of bonds, below certainty
  std::uint32_t* spins = nullptr;
  unsigned long long* flipped = nullptr;  // [replicas] += flipped sites
};

class DenseWolffBatch {
 public:
  // Waits for the stream. Error(device) where not even one pack of word groups fits into the memory
  // that is left.
  DenseWolffBatch(std::span<const EngineView> engines, const DeviceGraphs& graphs, int device,
                  cudaStream_t stream);

  // Bytes of working memory for one pack of word groups.
  static std::uint64_t least_bytes(const EngineView& engine, int vec);

  // Queues updates of a range of graphs.
  void queue(const GraphRange& range, const DenseUpdates& updates, cudaStream_t stream);

  std::uint32_t groups_at_a_time() const { return group_; }

 private:
  void lay_graphs(std::span<const EngineView> engines, cudaStream_t stream);
  void make_room(int device, cudaStream_t stream);

  const DeviceGraphs& graphs_;
  DeviceTiles tiles_;  // of all graphs; without seeds
  DeviceDenseRun run_;
  std::uint32_t group_ = 0;
  std::vector<std::uint64_t> seeds_;
  DeviceBuffer<std::uint32_t> bonds_, end_first_, listed_count_, seed_spin_, reached_, edge_, open_,
      open_end_, sent_, mail_, state_, entry_;
  DeviceBuffer<unsigned long long> counters_;
  DeviceBuffer<TileEnd> end_;
  DeviceBuffer<ListedBond> listed_;
};

// Chooses forms, and owns what sparse updates need: the graphs, the replicas' planes and the
// blocks' pools. Memory: as much again as the spins, 64 bytes per special site.
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
  // Every cluster sparse; every one dense; by word group.
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
  double dense_share_ = 0;  // of sites that a cluster flips: from there on the dense form
  DeviceBuffer<std::uint32_t> bond_threshold_, planes_;
  DeviceBuffer<uint2> special_, row_, more_, pool_;
  DeviceBuffer<DeviceWolffGraph> wolff_graphs_;
  DeviceBuffer<unsigned long long> flipped_;
  DeviceBuffer<unsigned> progress_;
  unsigned mix_ = kSparse;
  std::unique_ptr<DenseWolffBatch> dense_;
  bool dense_fits_ = true;
  std::vector<std::uint64_t> updates_;       // [graphs] since learn()
  std::vector<std::uint32_t> dense_groups_;  // [word groups] 0 or all ones
  DeviceBuffer<std::uint32_t> forms_;        // the same, on the device
};

}  // namespace rewise::multispin

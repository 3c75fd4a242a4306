// Owns what the dense Wolff updates of a batch need on the device (wolff_dense_cuda.hpp): the tiles
// of its graphs, and the working memory of as many bundles at a time as fit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/bundle/device_graphs.hpp"
#include "src/bundle/wolff/wolff_dense_cuda.hpp"
#include "src/cuda/device_buffer.hpp"

namespace rewise::bundle {

// Arrays are of the whole batch, on the device.
struct DenseUpdates {
  const std::uint32_t* first_step = nullptr;  // the first update is step *first_step + step
  std::uint32_t step = 0, updates = 1;
  const std::uint32_t* later = nullptr;      // [bundles] steps to be added, or null
  const std::uint32_t* active = nullptr;     // [bundles] replicas that take part, or null: all
  const std::uint32_t* threshold = nullptr;  // [bundles] of bonds, below certainty
  std::uint32_t* spins = nullptr;
  unsigned long long* flipped = nullptr;  // [replicas] += flipped sites
};

class DenseWolffBatch {
 public:
  // Waits for the stream. Error(device) where not even one pack of bundles fits into the memory
  // that is left.
  DenseWolffBatch(std::span<const EngineView> engines, const DeviceGraphs& graphs, int device,
                  cudaStream_t stream);

  // Bytes of working memory for one pack of bundles.
  static std::uint64_t least_bytes(const EngineView& engine, int vec);

  // Queues updates of a range of graphs.
  void queue(const GraphRange& range, const DenseUpdates& updates, cudaStream_t stream);

  std::uint32_t bundles_at_a_time() const { return group_; }

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

}  // namespace rewise::bundle

// The Wolff updates of a batch on the device (wolff_cuda.hpp): the graphs as they read them, the
// replicas' planes, what a launch needs besides. Memory: as much again as the spins, 8 bytes per
// neighbour of a special site, and the blocks' pools.
#pragma once

#include <cstdint>
#include <span>

#include "src/bundle/device_graphs.hpp"
#include "src/bundle/wolff_cuda.hpp"

namespace rewise::bundle {

class DeviceWolffBatch {
 public:
  // Waits for the stream. Error(device) where the memory that is left is too small.
  DeviceWolffBatch(std::span<const BooksView> books, const DeviceGraphs& graphs, int device,
                   cudaStream_t stream);

  // Queues `updates` updates of a range of graphs, steps *first_step + step and on.
  void queue(const GraphRange& range, const std::uint32_t* first_step, std::uint32_t step,
             std::uint32_t updates, std::uint32_t* spins, cudaStream_t stream);

  // [replicas of the batch] sites flipped since they were last cleared.
  DeviceBuffer<unsigned long long>& flipped() { return flipped_; }

 private:
  void lay_graphs(std::span<const BooksView> books, cudaStream_t stream);
  void make_room(int device, cudaStream_t stream);

  const DeviceGraphs& graphs_;
  const std::uint32_t replicas_;  // of the whole batch
  DeviceWolff wolff_;
  WolffLaunch plan_;
  DeviceBuffer<std::uint32_t> bond_threshold_, planes_;
  DeviceBuffer<std::uint64_t> offset_;
  DeviceBuffer<uint2> special_, link_, pool_;
  DeviceBuffer<DeviceWolffGraph> wolff_graphs_;
  DeviceBuffer<unsigned long long> flipped_;
  DeviceBuffer<unsigned> progress_;
};

}  // namespace rewise::bundle

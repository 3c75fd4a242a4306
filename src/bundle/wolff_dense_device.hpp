// Owns what the dense Wolff update needs on the device (wolff_dense_cuda.hpp): the tiles of one
// graph, and the working memory of as many bundles at a time as fit.
#pragma once

#include <cstdint>

#include "src/bundle/wolff_dense_cuda.hpp"
#include "src/cuda/device_buffer.hpp"

namespace rewise::bundle {

// The bundles of one graph, as the engine keeps them on the device.
struct DeviceBundles {
  std::uint32_t count = 0;
  int vec = 1;
  std::uint64_t seed = 0;
  const std::uint32_t* threshold = nullptr;  // [count] of bonds, below certainty
  std::uint32_t* spins = nullptr;
  unsigned long long* flipped = nullptr;  // [32 count] += flipped sites
};

class DenseWolffDevice {
 public:
  // Error(device) where not even one pack of bundles fits beside what is allocated.
  DenseWolffDevice(const Graph& graph, const Layout& layout, const DeviceLattice& lattice,
                   std::uint32_t bundles, int vec, int device, cudaStream_t stream);

  // `updates` updates of every replica, from `step` on. Queued.
  void update(const DeviceBundles& bundles, std::uint32_t step, std::uint32_t updates,
              cudaStream_t stream);
  // One update of the replicas active[bundle], bundle by bundle at steps[bundle]. Queued.
  void update_some(const DeviceBundles& bundles, const std::uint32_t* steps,
                   const std::uint32_t* active, cudaStream_t stream);

  std::uint32_t bundles_at_a_time() const { return group_; }

 private:
  DeviceDenseRun run_of(const DeviceBundles& bundles, std::uint32_t first);

  DeviceTiles tiles_;
  std::uint32_t group_ = 0;
  DeviceTileQueue queue_;
  DeviceBuffer<std::uint32_t> bonds_, end_first_, seed_spin_, reached_, open_, open_end_, state_,
      entry_, counters_;
  DeviceBuffer<TileEnd> end_;
  DeviceBuffer<ListedBond> listed_;
};

}  // namespace rewise::bundle

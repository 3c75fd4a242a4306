// Swendsen-Wang updates of all replicas on one CUDA device with labelling by union-find
// (swendsen_wang.hpp defines the update; same bits). This is the general path, and the labelling of
// Wolff `ccl` and few-cluster updates; lattices whose rows are whole words have a faster one
// (swendsen_wang_fused.hpp). Steps:
//
//   1 draw     masks of drawn bonds and of flips, a Philox call a thread, 64 bits by four ballots;
//              then rewired bonds that are drawn are noted, and bonds that are gone removed
//   2 tiles    a warp labels a tile in shared memory. A cluster that touches neither the tile's
//              border nor a modified cell is closed: its size is final. The others become nodes of
//              a forest over the whole lattice
//   3 join     bonds across tile borders and rewired bonds join that forest
//   4 roots    every node looks up its root and adds its size to the cluster's
//   5 flip     the nodes of a tile look up their flips, then the sites
//
// Potts: drawn bonds between unequal spins are removed before step 2, which then treats all spins
// as equal; in step 5 clusters take new states.
//
// A parent is never larger than its child (a site number), so a root is its cluster's smallest
// site, which addresses the flip. (Union by compare-and-swap, roots attached to smaller ones:
// Jaiganesh & Burtscher 2018, ECL-CC.) Cost per site: one byte of spin read twice and written once,
// a label of two bytes written and read, half a bit of each mask written and read: 7.5 bytes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/bytespin/device_plan.hpp"
#include "src/bytespin/swendsen_wang/tiles.hpp"
#include "src/cuda/device_buffer.hpp"

namespace rewise::bytespin {

// Work space of all replicas, by value to kernels. `stride` is DeviceReplicas::stride.
struct DeviceLabels {
  Geometry geometry;
  Tiles tiles;
  std::uint64_t drawn_stride = 0, flip_stride = 0;  // 32-bit words per replica
  std::uint32_t* drawn = nullptr;                   // bit of slot s: word s / 32, bit s % 32
  std::uint32_t* flips = nullptr;                   // bit of site s likewise
  std::uint8_t* rewired_on = nullptr;  // [replicas][rewired] drawn, and between equal spins
  std::uint16_t* place = nullptr;      // [replicas][stride] place of the site's root in its tile
  std::uint32_t* parent = nullptr;     // [replicas][stride] of nodes
  std::uint32_t* size = nullptr;       // [replicas][stride] of nodes
  std::uint64_t* nodes = nullptr;      // [replicas][tiles][32] bit x of a lane: a node
  unsigned long long* sums =
      nullptr;               // [updates of a batch][replicas][copies][3]: n^2, n^4 low, high
  std::uint32_t copies = 1;  // of the sums, so that few threads add to one
};

class SwendsenWangCuda {
 public:
  // `plan` points to device memory that must outlive this.
  SwendsenWangCuda(const DevicePlan& plan, const DeviceReplicas& replicas, cudaStream_t stream);

  // Bytes of work space on the device.
  static std::uint64_t bytes(const DevicePlan& plan, std::uint32_t replicas,
                             std::uint64_t replica_stride);

  // Queues steps 1 to 3 of update `update` of a batch. Also used by wolff_ccl.cu.
  void label(const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream);
  const DeviceLabels& labels() const { return labels_; }

  // As FusedSwendsenWang::run().
  void run(const DeviceReplicas& replicas, std::uint32_t updates, unsigned long long* quartic,
           cudaStream_t stream);

 private:
  DevicePlan plan_;
  DeviceLabels labels_;
  DeviceBuffer<std::uint32_t> drawn_, flips_, parent_, size_;
  DeviceBuffer<std::uint8_t> rewired_on_;
  DeviceBuffer<std::uint8_t> blank_;  // Potts: [replicas][stride] zeros
  DeviceBuffer<std::uint16_t> place_;
  DeviceBuffer<std::uint64_t> nodes_;
  DeviceBuffer<unsigned long long> sums_;
};

inline constexpr std::uint32_t kUpdatesPerBatch = 64;  // between two calls of launch_close()
inline constexpr std::uint32_t kMaskSlack = 16;        // words after a mask that kernels may read

// Number of calls rounded up to whole warps; a warp makes 8 x 32 calls.
inline constexpr std::uint64_t kCallsPerWarp = 256;

Tiles make_tiles(const DevicePlan& plan);
// Number of copies of an update's sums.
std::uint32_t sum_copies(const Tiles& tiles);

// The steps, each queued for all replicas.
void launch_draw(const DevicePlan& plan, const DeviceLabels& labels, const DeviceReplicas& replicas,
                 cudaStream_t stream);
// Potts, after launch_draw(): keeps only the drawn lattice bonds between equal spins, so that a
// labelling that treats all spins as equal finds the clusters.
void launch_keep_equal(const DevicePlan& plan, const DeviceLabels& labels,
                       const DeviceReplicas& replicas, cudaStream_t stream);
void launch_label_tiles(const DevicePlan& plan, const DeviceLabels& labels,
                        const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream);
void launch_join(const DevicePlan& plan, const DeviceLabels& labels, const DeviceReplicas& replicas,
                 cudaStream_t stream);
void launch_find_roots(const DevicePlan& plan, const DeviceLabels& labels,
                       const DeviceReplicas& replicas, cudaStream_t stream);
void launch_flip(const DevicePlan& plan, const DeviceLabels& labels, const DeviceReplicas& replicas,
                 std::uint32_t update, cudaStream_t stream);
// Adds the sums of a batch to replicas.pending and quartic, then clears them.
void launch_close(const DeviceLabels& labels, const DeviceReplicas& replicas, std::uint32_t updates,
                  unsigned long long* quartic, cudaStream_t stream);

}  // namespace rewise::bytespin

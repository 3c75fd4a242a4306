// Swendsen-Wang updates of all replicas on one CUDA device by union-find. swendsen_wang.hpp defines
// the update; the results are equal bit for bit. This is the general path, and its labelling is
// also used by the Wolff method `ccl` and by few-cluster updates. swendsen_wang_fused_cuda.hpp is
// faster, but requires two or more dimensions and rows that are multiples of 64 sites. Steps:
//
//   1 draw     makes bit masks of drawn bonds (four warp ballots pack the draws of 128 bonds). Then
//              stores which rewired bonds are active, and clears the bits of removed lattice bonds
//   2 tiles    a warp labels a tile in shared memory. A cluster that touches neither the tile's
//              border nor a modified cell is closed: its size is final. Every other cluster becomes
//              a node of a forest over the whole lattice
//   3 join     unites nodes of the forest by bonds across tile borders and by rewired bonds
//   4 roots    every node looks up its root and adds its size to that of the root
//   5 flip     the nodes of a tile look up the flips of their roots; then the sites flip
//
// Potts: drawn bonds between unequal spins are removed before step 2, which then treats all spins
// as equal; in step 5 clusters take new states.
//
// Nodes are numbered by sites, and the number of a parent is never larger than that of its child.
// So a root is the smallest site of its cluster, which is the address of the flip. Roots are
// attached to smaller roots by compare-and-swap (ECL-CC, Jaiganesh & Burtscher 2018). Memory
// traffic per site in two dimensions: a spin of one byte is read twice and written once, a label of
// two bytes is written and read, and two bits of drawn bonds are written and read; 7.5 bytes in
// total.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/bytespin/cluster_updater_cuda.hpp"
#include "src/bytespin/swendsen_wang/tiles.hpp"
#include "src/cuda/device_arrays.hpp"

namespace rewise::bytespin {

// What labellings by tiles have in common, for all replicas; passed to kernels by value.
struct TileArrays {
  Geometry geometry;
  Tiles tiles;
  std::uint64_t drawn_stride = 0;  // 32-bit words per replica
  std::uint32_t* drawn = nullptr;  // bit of draw index s: word s / 32, bit s % 32
  // [updates of a batch][replicas][copies][3]: n^2, n^4 low, high
  unsigned long long* sums = nullptr;
  std::uint32_t copies = 1;  // of the sums, to reduce contention of atomic additions
};

// `stride` is DeviceReplicas::stride.
struct DeviceLabels : TileArrays {
  std::uint8_t* rewired_on = nullptr;  // [replicas][rewired] 1: drawn, and between equal spins
  std::uint16_t* place = nullptr;      // [replicas][stride] place of the site's root in its tile
  std::uint32_t* parent = nullptr;     // [replicas][stride] of nodes
  std::uint32_t* size = nullptr;       // [replicas][stride] of nodes
  std::uint64_t* nodes = nullptr;  // [replicas][tiles][lanes] bit x: site x of the lane is a node
  std::uint8_t* blank = nullptr;   // Potts: [replicas][stride] zeros
};

class SwendsenWangCuda final : public ClusterUpdaterCuda {
 public:
  // The arrays of `graph`, in device memory, must outlive this object.
  SwendsenWangCuda(const GraphView& graph, const DeviceReplicas& replicas, cudaStream_t stream);

  // Bytes of work space on the device.
  static std::uint64_t bytes(const GraphView& graph, std::uint32_t replicas);

  // Queues steps 1 to 3 of update `update` of a batch. Also used by SeedClustersCuda.
  void label(const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream);
  const DeviceLabels& labels() const { return labels_; }

  void run(const DeviceReplicas& replicas, std::uint32_t updates, cudaStream_t stream) override;

 private:
  GraphView graph_;
  DeviceLabels labels_;
  DeviceArrays arrays_;
};

inline constexpr std::uint32_t kUpdatesPerBatch = 64;  // between two calls of launch_close()
inline constexpr std::uint32_t kMaskSlack = 16;        // words after a mask that kernels may read

Tiles make_tiles(const GraphView& graph);
// TileArrays::copies.
std::uint32_t sum_copies(const Tiles& tiles);

// Step 4, queued for all replicas.
void launch_find_roots(const GraphView& graph, const DeviceLabels& labels,
                       const DeviceReplicas& replicas, cudaStream_t stream);
// Adds the sums of a batch to replicas.pending and replicas.quartic, then clears them.
void launch_close(const TileArrays& labels, const DeviceReplicas& replicas, std::uint32_t updates,
                  cudaStream_t stream);

}  // namespace rewise::bytespin

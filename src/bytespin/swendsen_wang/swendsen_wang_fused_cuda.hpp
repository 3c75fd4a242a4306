// Swendsen-Wang updates of all replicas on a CUDA device, the fast path. It supports lattices of
// two to four dimensions whose rows are multiples of 64 sites, rewired or not. swendsen_wang.hpp
// defines the update; the results are equal bit for bit. Two kernels per update:
//
//   tiles  one block of four or eight warps per tile (tiles.hpp), in shared memory. First it
//          completes the previous update: it looks up the roots of the tile's nodes, and their
//          draws give the new spins. Then it draws the bonds of the tile and labels its clusters. A
//          cluster that touches neither the tile's border nor a modified cell is closed: its size
//          and its draw are final. Every other cluster becomes a node of a forest over the whole
//          lattice.
//   join   unites nodes of the forest by the bonds across tile borders and the rewired bonds
//
// Spins. Ising spins are bytes only before and after a run. In between, a site is a two-byte label:
// bit 15 is the spin; the bits below are the number of the site's node in its tile, or kClosed plus
// the flip of its closed cluster. Potts spins are always bytes, and a label is a node, or kClosed
// plus the new state.
//
// Memory. For each tile, `tiles` reads and writes only the labels of that tile; `join` reads the
// labels of all tiles. One array of labels therefore suffices. `tiles` reads the forest of the
// previous update while it builds the next one, so there are two forests, used alternately.
//
// Ranks (src/distributed). Each rank has only the tiles of its slab (whole rows of tiles), and its
// join omits the bonds to other slabs. slab_borders_cuda.hpp unites the clusters of several slabs;
// the root of a cluster of several slabs gets the smallest site of the whole cluster.
//
// The root of a cluster holds its smallest site, which is the address of the cluster's draw. Cost
// per site: its label is read and written, and its bonds are drawn (d/4 Philox calls); other memory
// is accessed only at tile borders and modified cells. Potts needs another quarter of a Philox call
// and writes one byte.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/cuda/device_buffer.hpp"

namespace rewise::bytespin {

// Work space of all replicas, passed to kernels by value. Only those words of `drawn` are used that
// have bonds across tile borders.
struct FusedLabels : TileArrays {
  std::uint32_t capacity = 0;               // largest number of nodes of a tile
  std::uint32_t stride = 0;                 // tiles of a replica on this device
  bool starts_early = false;                // kernels may start before the previous one has ended
  const std::uint32_t* gone = nullptr;      // removed lattice bonds, a mask like `drawn`; or null
  const std::uint32_t* modified = nullptr;  // bit of site s: word s / 32, bit s % 32; or null
  std::uint16_t* label = nullptr;           // [replicas][stride][kTileSites] by place (tiles.hpp)
  std::uint32_t* count = nullptr;           // [replicas][stride] nodes
  // Two forests, used alternately; [replicas][stride][capacity] each. The pointers from `label` on
  // are offset, so that tiles and nodes of a rank have the numbers of the whole replica.
  unsigned long long* node[2]{};  // parent | site << 32
  std::uint16_t* own[2]{};        // number of sites of the node (a cluster of its tile)
  std::uint32_t* size[2]{};       // at roots: number of sites of the whole cluster
};

class FusedSwendsenWang final : public ClusterUpdaterCuda {
 public:
  // Whether the fast path supports such a replica. takes() and bytes() do not read the arrays of
  // `graph`.
  static bool takes(const GraphView& graph);
  // Bytes of work space.
  static std::uint64_t bytes(const GraphView& graph, std::uint32_t replicas,
                             const DevicePart& tiles = {});

  // The graph's arrays must outlive this object. `tiles`: the tiles of a rank, whole rows of tiles
  // along the slowest extent.
  FusedSwendsenWang(const GraphView& graph, std::uint32_t replicas, cudaStream_t stream,
                    const DevicePart& tiles = {});

  void run(const DeviceReplicas& replicas, std::uint32_t updates, cudaStream_t stream) override;

  const FusedLabels& labels() const { return labels_; }

 private:
  const GraphView graph_;
  FusedLabels labels_;
  // Masks of removed lattice bonds and modified cells; empty if no bond is rewired.
  DeviceBuffer<std::uint32_t> gone_, modified_;
  DeviceArrays arrays_;
};

// The steps of an update, queued for all replicas. `update` is its number in a batch of
// kUpdatesPerBatch updates; each update of a batch has its own row of sums.
void launch_fused_tiles(const GraphView& graph, const FusedLabels& labels,
                        const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream);
void launch_fused_join(const GraphView& graph, const FusedLabels& labels,
                       const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream);
// After the last update of a batch: writes the spins as bytes.
void launch_fused_flip(const GraphView& graph, const FusedLabels& labels,
                       const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream);
// Computes the masks of removed lattice bonds and modified cells. Called once.
void launch_fused_masks(const GraphView& graph, std::uint32_t* gone, std::uint32_t* modified,
                        cudaStream_t stream);

}  // namespace rewise::bytespin

// The forest and the labels of the fast Swendsen-Wang path (swendsen_wang_fused_cuda.hpp), as its
// kernels read and write them. A cluster of a tile is a node of the forest if it may continue in
// another tile. The key of a node is its smallest site.
#pragma once

#include "src/bytespin/swendsen_wang/labels.cuh"
#include "src/bytespin/swendsen_wang/swendsen_wang_fused_cuda.hpp"

namespace rewise::bytespin::device {

// In a kernel that was launched early: waits until the writes of the previous kernel are visible.
__device__ __forceinline__ void wait_for_kernel_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}
// Allows the next kernel on the stream to start if it is launched early and there is room.
__device__ __forceinline__ void let_next_kernel_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// The arrays of one replica in FusedLabels. The parity of `update` selects a forest.
struct FusedReplica {
  std::uint32_t* drawn;
  std::uint16_t* label;
  std::uint32_t* count;
  KeyedForest forest;
  std::uint16_t* own;
  std::uint32_t* size;

  __device__ __forceinline__ FusedReplica(const FusedLabels& all, std::uint32_t replica,
                                          std::uint32_t update)
      : drawn(all.drawn + replica * all.drawn_stride) {
    const std::size_t tiles = static_cast<std::size_t>(replica) * all.stride;
    const std::size_t nodes = tiles * all.capacity;
    label = all.label + tiles * kTileSites;
    count = all.count + tiles;
    forest = {(update % 2 == 0 ? all.node[0] : all.node[1]) + nodes};
    own = (update % 2 == 0 ? all.own[0] : all.own[1]) + nodes;
    size = (update % 2 == 0 ? all.size[0] : all.size[1]) + nodes;
  }
};

// Labels of sites: bit 15 is the spin (Ising). The bits below are the number of the site's node in
// its tile or, if the site belongs to a closed cluster (which lies within one tile), kClosed plus
// the draw of that cluster.
inline constexpr std::uint32_t kClosed = kTileSites;
inline constexpr std::uint32_t kSpinBit = 15;
inline constexpr std::uint32_t kNodeMask = (1u << kSpinBit) - 1;

// The label of a site, and the node that it belongs to.
struct SiteNode {
  std::uint32_t label = 0, node = 0;
};

template <int kDim>
__device__ __forceinline__ SiteNode node_of(const FusedLabels& labels, const FusedReplica& arrays,
                                            Site site) {
  const SiteInTile at = site_in_tile<kDim>(labels.tiles, labels.geometry, site);
  const std::uint32_t label =
      arrays.label[static_cast<std::size_t>(at.tile) * kTileSites + at.place];
  return {label, at.tile * labels.capacity + (label & kNodeMask)};
}

__device__ __forceinline__ bool rewired_drawn(const GraphView& graph,
                                              const DeviceReplicas& replicas, std::uint32_t replica,
                                              const IndexedBond& bond) {
  return is_below(draw_at(replicas.key(replica), Stream::bytespin_bond, bond.draw_index),
                  graph.bond[replicas.temperature(replica)]);
}

}  // namespace rewise::bytespin::device

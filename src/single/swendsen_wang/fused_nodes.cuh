// The forest over the lattice of the fast Swendsen-Wang path (swendsen_wang_fused.hpp): its nodes
// are the clusters of tiles that other tiles may join, a node's key is its smallest site.
#pragma once

#include <cstdint>

#include "src/cuda/forest.cuh"
#include "src/single/swendsen_wang/labels.cuh"
#include "src/single/swendsen_wang/swendsen_wang_fused.hpp"

namespace rewise::single::device {

// A kernel that was launched early: what the kernel before it has done is there.
__device__ __forceinline__ void wait_for_kernel_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}
// The next kernel on the stream may begin where there is room, if it is launched early.
__device__ __forceinline__ void let_next_kernel_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// One system's part of FusedLabels; `turn` is the forest.
struct FusedSystem {
  std::uint32_t* drawn;
  std::uint16_t* label;
  std::uint32_t* count;
  KeyedForest forest;
  std::uint16_t* own;
  std::uint32_t* size;

  __device__ __forceinline__ FusedSystem(const FusedLabels& all, std::uint32_t who,
                                         std::uint32_t turn)
      : drawn(all.common.drawn + who * all.common.drawn_stride) {
    const std::size_t tiles = static_cast<std::size_t>(who) * all.common.tiles.count;
    const std::size_t nodes = tiles * all.capacity;
    label = all.label + tiles * kTileSites;
    count = all.count + tiles;
    forest = {(turn % 2 == 0 ? all.node[0] : all.node[1]) + nodes};
    own = (turn % 2 == 0 ? all.own[0] : all.own[1]) + nodes;
    size = (turn % 2 == 0 ? all.size[0] : all.size[1]) + nodes;
  }
};

// Labels of sites: bit 15 the spin of Ising, below it a node's number in the tile or kClosed + what
// its closed cluster has drawn (fused_models.cuh).
inline constexpr std::uint32_t kClosed = kTileSites;
inline constexpr std::uint32_t kSpinBit = 15;
inline constexpr std::uint32_t kNodeMask = (1u << kSpinBit) - 1;

}  // namespace rewise::single::device

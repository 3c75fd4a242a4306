// The forest over the lattice of the fast Swendsen-Wang path (swendsen_wang_fused.hpp): its nodes
// are the clusters of tiles that other tiles may join.
#pragma once

#include <cstdint>
#include <cuda/atomic>

#include "src/single/labels.cuh"
#include "src/single/swendsen_wang_fused.hpp"

namespace rewise::single::device {

// A node's word: bits 0-31 its parent (a root's: itself), bits 32-63 the smallest site of its
// cluster within its tile. Invariant: a parent's site is smaller than its child's, so that a root's
// is the smallest of its set. Only a root's word is changed by unite(), by compare-and-swap; paths
// are shortened meanwhile, and a store that is overtaken does no harm, since it names an ancestor.
// (ECL-CC: Jaiganesh & Burtscher 2018.)
struct NodeForest {
  using Word = unsigned long long;
  using Ref = cuda::atomic_ref<Word, cuda::thread_scope_device>;

  Word* words;

  static __device__ __forceinline__ Word make(std::uint32_t parent, Site site) {
    return static_cast<Word>(site) << 32 | parent;
  }
  static __device__ __forceinline__ std::uint32_t parent(Word word) {
    return static_cast<std::uint32_t>(word);
  }
  static __device__ __forceinline__ Site site(Word word) { return static_cast<Site>(word >> 32); }

  __device__ __forceinline__ Word load(std::uint32_t node) const {
    return Ref(words[node]).load(cuda::memory_order_relaxed);
  }

  // A node's root, where no set changes any more: plain loads, which may be cached.
  __device__ __forceinline__ std::uint32_t root(std::uint32_t node, Word& word) const {
    word = words[node];
    while (parent(word) != node) {
      node = parent(word);
      word = words[node];
    }
    return node;
  }

  __device__ __forceinline__ void unite(std::uint32_t a, std::uint32_t b) const {
    Word at_a = load(a), at_b = load(b);
    for (;;) {
      if (parent(at_a) == parent(at_b)) return;
      const bool top_a = parent(at_a) == a, top_b = parent(at_b) == b;
      if (top_a && top_b) {
        const bool hang_a = site(at_a) > site(at_b);
        const std::uint32_t child = hang_a ? a : b, root = hang_a ? b : a;
        Word& at_child = hang_a ? at_a : at_b;
        const Word found = atomicCAS(words + child, at_child, make(root, site(at_child)));
        if (found == at_child) return;
        at_child = found;
        continue;
      }
      // Both go up a step, with both loads on their way at once.
      const Word up_a = top_a ? at_a : load(parent(at_a));
      const Word up_b = top_b ? at_b : load(parent(at_b));
      if (!top_a) step(a, at_a, up_a);
      if (!top_b) step(b, at_b, up_b);
    }
  }

 private:
  // From a node to its parent, whose word is `up`; the node's parent becomes its grandparent.
  __device__ __forceinline__ void step(std::uint32_t& node, Word& word, Word up) const {
    const std::uint32_t next = parent(word);
    if (parent(up) != next) {
      Ref(words[node]).store(make(parent(up), site(word)), cuda::memory_order_relaxed);
    }
    node = next;
    word = up;
  }
};

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
  NodeForest forest;
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

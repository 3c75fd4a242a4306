// Disjoint sets on the device, in an array of parents that threads change together. Invariant: a
// parent is never larger than its child, so a root is the smallest of its set. Only a root's parent
// is changed by unite(), by compare-and-swap; find() shortens paths and may lose that race without
// harm, since it stores an ancestor. (ECL-CC: Jaiganesh & Burtscher 2018.)
#pragma once

#include <cstdint>
#include <cuda/atomic>

namespace rewise::single::device {

struct LatticeForest {
  using Ref = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>;

  std::uint32_t* parent;

  __device__ __forceinline__ std::uint32_t load(std::uint32_t node) const {
    return Ref(parent[node]).load(cuda::memory_order_relaxed);
  }
  __device__ __forceinline__ void store(std::uint32_t node, std::uint32_t to) const {
    Ref(parent[node]).store(to, cuda::memory_order_relaxed);
  }

  // The root, halving the path.
  __device__ __forceinline__ std::uint32_t find(std::uint32_t node) const {
    std::uint32_t up = load(node);
    while (up != node) {
      const std::uint32_t next = load(up);
      if (next == up) return up;
      store(node, next);
      node = next;
      up = load(node);
    }
    return node;
  }

  // The root, leaving the path as it is: while every node's parent is being set to its root, a
  // halving that was overtaken would undo it.
  __device__ __forceinline__ std::uint32_t climb(std::uint32_t node) const {
    for (std::uint32_t up = load(node); up != node; up = load(node)) node = up;
    return node;
  }

  __device__ __forceinline__ void unite(std::uint32_t a, std::uint32_t b) const {
    for (;;) {
      a = find(a);
      b = find(b);
      if (a == b) return;
      if (a < b) {
        const std::uint32_t c = a;
        a = b;
        b = c;
      }
      std::uint32_t expected = a;
      if (Ref(parent[a]).compare_exchange_strong(expected, b, cuda::memory_order_relaxed)) return;
    }
  }
};

}  // namespace rewise::single::device

// Disjoint sets on the device, in an array of parents that threads change concurrently. Nodes are
// ordered, and a parent never comes after its child, so a root is the first of its set. unite()
// changes only the parents of roots, by compare-and-swap. Paths are shortened concurrently; an
// outdated store is harmless, because it contains an ancestor. (ECL-CC: Jaiganesh & Burtscher
// 2018.)
#pragma once

#include <cstdint>
#include <cuda/atomic>

namespace rewise {

// Two nodes on their ways to their roots, with both loads in flight. The values may be outdated;
// only the compare-and-swap at a root detects that.
struct ForestWalk {
  std::uint32_t a, b;        // nodes
  std::uint32_t up_a, up_b;  // their parents, as last read
};

struct ParentForest {
  using Ref = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>;

  std::uint32_t* parent;

  __device__ __forceinline__ std::uint32_t load(std::uint32_t node) const {
    return Ref(parent[node]).load(cuda::memory_order_relaxed);
  }
  // Reads the parent through the first-level cache. An outdated value is the node itself or an
  // ancestor.
  __device__ __forceinline__ std::uint32_t peek(std::uint32_t node) const {
    using InBlock = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_block>;
    return InBlock(parent[node]).load(cuda::memory_order_relaxed);
  }
  __device__ __forceinline__ void store(std::uint32_t node, std::uint32_t to) const {
    Ref(parent[node]).store(to, cuda::memory_order_relaxed);
  }

  // Returns the root and halves the path.
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

  // Returns the root and leaves the path unchanged. Required while every node's parent is set to
  // its root, because an outdated halving would undo that.
  __device__ __forceinline__ std::uint32_t climb(std::uint32_t node) const {
    for (std::uint32_t up = load(node); up != node; up = load(node)) node = up;
    return node;
  }

  __device__ __forceinline__ ForestWalk start(std::uint32_t a, std::uint32_t b) const {
    return {a, b, peek(a), peek(b)};
  }

  // One step of joining two sets. Returns true when they are one. before(a, b): a comes before b.
  template <class Before>
  __device__ __forceinline__ bool step(ForestWalk& walk, Before&& before) const {
    if (walk.up_a == walk.up_b) return true;
    if (walk.up_a == walk.a && walk.up_b == walk.b) {
      const bool hang_b = before(walk.a, walk.b);
      const std::uint32_t root = hang_b ? walk.a : walk.b;
      std::uint32_t expected = hang_b ? walk.b : walk.a;
      if (Ref(parent[expected])
              .compare_exchange_strong(expected, root, cuda::memory_order_relaxed)) {
        return true;
      }
      (hang_b ? walk.up_b : walk.up_a) = expected;
      return false;
    }
    const std::uint32_t next_a = peek(walk.up_a), next_b = peek(walk.up_b);
    if (walk.a != walk.up_a && walk.up_a != next_a) store(walk.a, next_a);
    if (walk.b != walk.up_b && walk.up_b != next_b) store(walk.b, next_b);
    walk = {walk.up_a, walk.up_b, next_a, next_b};
    return false;
  }

  template <class Before>
  __device__ __forceinline__ void unite(std::uint32_t a, std::uint32_t b, Before&& before) const {
    ForestWalk walk = start(a, b);
    while (!step(walk, before)) {
    }
  }
  // The order of nodes is that of their numbers.
  __device__ __forceinline__ void unite(std::uint32_t a, std::uint32_t b) const {
    unite(a, b, [](std::uint32_t x, std::uint32_t y) { return x < y; });
  }
};

// A ParentForest with a word for each node: its parent in bits 0-31 and its key above. The order of
// nodes is that of their keys, so a root has the smallest key of its set. Changes are atomic at
// device scope.
struct KeyedForest {
  using Word = unsigned long long;

  struct Walk {
    std::uint32_t a, b;  // nodes
    Word at_a, at_b;     // their words, as last read
  };

  Word* words;

  static __device__ __forceinline__ Word make(std::uint32_t parent, std::uint32_t key) {
    return static_cast<Word>(key) << 32 | parent;
  }
  static __device__ __forceinline__ std::uint32_t parent(Word word) {
    return static_cast<std::uint32_t>(word);
  }
  static __device__ __forceinline__ std::uint32_t key(Word word) {
    return static_cast<std::uint32_t>(word >> 32);
  }

  // As ParentForest::peek().
  __device__ __forceinline__ Word peek(std::uint32_t node) const {
    using InBlock = cuda::atomic_ref<Word, cuda::thread_scope_block>;
    return InBlock(words[node]).load(cuda::memory_order_relaxed);
  }

  // Returns a node's root after all joins, with plain, cached loads.
  __device__ __forceinline__ std::uint32_t root(std::uint32_t node, Word& word) const {
    word = words[node];
    while (parent(word) != node) {
      node = parent(word);
      word = words[node];
    }
    return node;
  }

  __device__ __forceinline__ Walk start(std::uint32_t a, std::uint32_t b) const {
    return {a, b, peek(a), peek(b)};
  }

  // One step of joining two sets. Returns true when they are one.
  __device__ __forceinline__ bool step(Walk& walk) const {
    const std::uint32_t up_a = parent(walk.at_a), up_b = parent(walk.at_b);
    if (up_a == up_b) return true;
    const bool top_a = up_a == walk.a, top_b = up_b == walk.b;
    if (top_a && top_b) {
      const bool hang_a = key(walk.at_a) > key(walk.at_b);
      const std::uint32_t child = hang_a ? walk.a : walk.b, root = hang_a ? walk.b : walk.a;
      const Word seen = hang_a ? walk.at_a : walk.at_b;
      const Word found = atomicCAS(words + child, seen, make(root, key(seen)));
      if (hang_a) walk.at_a = found;
      if (!hang_a) walk.at_b = found;
      return found == seen;
    }
    // Moves both up one step, with both loads in flight.
    const Word next_a = top_a ? walk.at_a : peek(up_a), next_b = top_b ? walk.at_b : peek(up_b);
    if (!top_a) rise(walk.a, walk.at_a, next_a);
    if (!top_b) rise(walk.b, walk.at_b, next_b);
    return false;
  }

  __device__ __forceinline__ void unite(std::uint32_t a, std::uint32_t b) const {
    Walk walk = start(a, b);
    while (!step(walk)) {
    }
  }

 private:
  using Ref = cuda::atomic_ref<Word, cuda::thread_scope_device>;

  // Moves from a node to its parent, whose word is `up`, and sets the node's parent to its
  // grandparent.
  __device__ __forceinline__ void rise(std::uint32_t& node, Word& word, Word up) const {
    const std::uint32_t next = parent(word);
    if (parent(up) != next) {
      Ref(words[node]).store(make(parent(up), key(word)), cuda::memory_order_relaxed);
    }
    node = next;
    word = up;
  }
};

}  // namespace rewise

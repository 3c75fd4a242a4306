// Disjoint sets on the device, in an array of parents that threads change together. Nodes have an
// order, and a parent never comes after its child in it, so a root is the first of its set. Only a
// root's parent is changed by unite(), by compare-and-swap; paths are shortened meanwhile, and a
// store that is overtaken does no harm, since it names an ancestor. (ECL-CC: Jaiganesh & Burtscher
// 2018.)
#pragma once

#include <cstdint>
#include <cuda/atomic>

namespace rewise {

// The two nodes of a join on their ways up, both loads under way at once. What they meet may be out
// of date: only the compare-and-swap of a root must not be.
struct ForestWalk {
  std::uint32_t a, b;        // nodes
  std::uint32_t up_a, up_b;  // their parents, as they were seen
};

struct ParentForest {
  using Ref = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>;

  std::uint32_t* parent;

  __device__ __forceinline__ std::uint32_t load(std::uint32_t node) const {
    return Ref(parent[node]).load(cuda::memory_order_relaxed);
  }
  // What a block may have seen before, in the first-level cache: an ancestor, if not the parent.
  __device__ __forceinline__ std::uint32_t peek(std::uint32_t node) const {
    using InBlock = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_block>;
    return InBlock(parent[node]).load(cuda::memory_order_relaxed);
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

  __device__ __forceinline__ ForestWalk start(std::uint32_t a, std::uint32_t b) const {
    return {a, b, peek(a), peek(b)};
  }

  // One step of joining two sets; whether they are one now. before(a, b): a comes before b.
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
  // In the order of their numbers.
  __device__ __forceinline__ void unite(std::uint32_t a, std::uint32_t b) const {
    unite(a, b, [](std::uint32_t x, std::uint32_t y) { return x < y; });
  }
};

// The same with a word for each node, its parent in bits 0-31 and its key above. The order is that
// of the keys, so a root has the smallest of its set. Several devices may join sets together
// (atomic operations are the system's, which costs one device alone nothing).
struct KeyedForest {
  using Word = unsigned long long;

  struct Walk {
    std::uint32_t a, b;  // nodes
    Word at_a, at_b;     // their words, as they were seen
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

  // As ParentForest::peek(); of another device's node likewise.
  __device__ __forceinline__ Word peek(std::uint32_t node) const {
    using InBlock = cuda::atomic_ref<Word, cuda::thread_scope_block>;
    return InBlock(words[node]).load(cuda::memory_order_relaxed);
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

  __device__ __forceinline__ Walk start(std::uint32_t a, std::uint32_t b) const {
    return {a, b, peek(a), peek(b)};
  }

  // One step of joining two sets; whether they are one now.
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
    // Both go up a step, with both loads on their way at once.
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

  // From a node to its parent, whose word is `up`; the node's parent becomes its grandparent.
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

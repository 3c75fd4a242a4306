// Kernels with a thread for each of the items (sites, bonds) of many replicas: maps threads to
// items. Also access to words that threads of several blocks share.
#pragma once

#include <cstdint>
#include <cuda/atomic>

#include "src/cuda/launch.hpp"

namespace rewise {

inline constexpr unsigned kItemThreads = 256;  // of a block

// `items` of every replica, or a part of them; a block has items of one replica only.
struct ReplicaItems {
  std::uint64_t items;  // of the whole replica
  ReplicaBlocks blocks;

  ReplicaItems(std::uint64_t count, std::uint32_t replicas, const DevicePart& part = {})
      : items(count), blocks((count + kItemThreads - 1) / kItemThreads, replicas, part) {}
};

// Launches a kernel whose last parameter is the items; does nothing if there are no items.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const ReplicaItems& items, detail::StreamAt stream,
            const Arguments&... arguments) {
  if (items.blocks.count() == 0) return;
  launch(kernel, LaunchShape{.blocks = items.blocks.count(), .threads = kItemThreads}, stream,
         arguments..., items);
}

struct Item {
  std::uint32_t replica;
  std::uint64_t index;
};

__device__ __forceinline__ Item item_of(const ReplicaItems& all) {
  const auto [replica, block] = all.blocks.position(blockIdx.x);
  return {replica, std::uint64_t{block} * kItemThreads + threadIdx.x};
}

using SharedWord = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>;

__device__ __forceinline__ std::uint32_t load(const std::uint32_t* at) {
  return SharedWord(const_cast<std::uint32_t&>(*at)).load(cuda::memory_order_relaxed);
}
__device__ __forceinline__ void store(std::uint32_t* at, std::uint32_t value) {
  SharedWord(*at).store(value, cuda::memory_order_relaxed);
}

}  // namespace rewise

// The queue of tiles that the dense Wolff update works off (wolff_dense_cuda.hpp): any warp takes,
// any warp adds. A tile's state says whether it waits, is at work, or both, so that it waits at
// most once and no two warps hold it at a time; a tile that is woken while at work waits again when
// it is left. The queue is first in, first out, so that gains gather while a tile waits.
#pragma once

#include <cuda/atomic>

#include "src/bundle/wolff_dense_cuda.hpp"

namespace rewise::bundle::device {

constexpr std::uint32_t kTileWaits = 1;
constexpr std::uint32_t kTileAtWork = 2;
constexpr std::uint32_t kTileFresh = 4;    // holds what its neighbours were not told of
constexpr std::uint32_t kTileTouched = 8;  // was visited in this update

using DeviceCounter = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>;

// By one thread. A slot is free again before its turn comes round, unless a warp was held up there.
__device__ inline void add_tile(const DeviceTileQueue& queue, std::uint32_t item) {
  const std::uint32_t at = atomicAdd(queue.tail, 1u) & queue.mask;
  DeviceCounter entry(queue.entry[at]);
  std::uint32_t empty = 0;
  while (!entry.compare_exchange_weak(empty, item + 1, cuda::memory_order_release,
                                      cuda::memory_order_relaxed)) {
    empty = 0;
    __nanosleep(100);
  }
}

// By one thread, after what the tile gains has been written and fenced.
__device__ inline void wake_tile(const DeviceTileQueue& queue, std::uint32_t* state,
                                 std::uint32_t item, std::uint32_t how = 0) {
  const std::uint32_t old =
      DeviceCounter(state[item]).fetch_or(kTileWaits | how, cuda::memory_order_acq_rel);
  if ((old & (kTileWaits | kTileAtWork)) != 0) return;
  atomicAdd(queue.busy, 1u);
  add_tile(queue, item);
}

// By a warp: waits for a tile; false when there will be none any more.
__device__ inline bool take_tile(const DeviceTileQueue& queue, std::uint32_t* state,
                                 std::uint32_t& item, bool& fresh) {
  std::uint32_t got = 0, old = 0;
  if (threadIdx.x % 32 == 0) {
    DeviceCounter entry(queue.entry[atomicAdd(queue.head, 1u) & queue.mask]);
    DeviceCounter busy(*queue.busy);
    while ((got = entry.load(cuda::memory_order_acquire)) == 0 &&
           busy.load(cuda::memory_order_relaxed) != 0) {
      __nanosleep(100);
    }
    if (got != 0) {
      entry.store(0, cuda::memory_order_relaxed);
      old = DeviceCounter(state[got - 1])
                .exchange(kTileAtWork | kTileTouched, cuda::memory_order_acq_rel);
      __threadfence();
    }
  }
  got = __shfl_sync(~0u, got, 0);
  old = __shfl_sync(~0u, old, 0);
  item = got - 1;
  fresh = (old & kTileFresh) != 0;
  return got != 0;
}

// By a warp that has written and fenced all it had to.
__device__ inline void leave_tile(const DeviceTileQueue& queue, std::uint32_t* state,
                                  std::uint32_t item) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    const std::uint32_t old =
        DeviceCounter(state[item]).fetch_and(~kTileAtWork, cuda::memory_order_acq_rel);
    if ((old & kTileWaits) != 0) {
      add_tile(queue, item);
    } else {
      atomicSub(queue.busy, 1u);
    }
  }
}

}  // namespace rewise::bundle::device

// The queue of tiles that the dense Wolff update works off (wolff_dense_cuda.hpp): any warp takes,
// any warp adds. A tile's state says whether it waits, is at work, or both, so that it waits at
// most once and no two warps hold it at a time; a tile that is woken while at work waits again when
// it is left. The queue is first in, first out, so that gains gather while a tile waits.
#pragma once

#include <cuda/atomic>

#include "src/bundle/wolff/wolff_dense_cuda.hpp"

namespace rewise::bundle::device {

constexpr std::uint32_t kTileWaits = 1;
constexpr std::uint32_t kTileAtWork = 2;
constexpr std::uint32_t kTileFresh = 4;    // holds what its neighbours were not told of
constexpr std::uint32_t kTileTouched = 8;  // was visited in this update

constexpr std::uint32_t kNoTile = ~0u;

// Acquire and release; __threadfence() is sequentially consistent, which costs more.
__device__ __forceinline__ void fence() {
  cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_device);
}

using DeviceCounter = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>;

struct TakenTile {
  std::uint32_t item;
  bool first;  // visit in this update
  bool fresh;
};

// A warp at the queue; all lanes call together. What a warp has written reaches the next one that
// takes a tile if it was fenced before the tile was woken or left.
class TileWorker {
 public:
  __device__ __forceinline__ TileWorker(const DeviceTileQueue& queue, std::uint32_t* state)
      : queue_(queue), state_(state), lane_(threadIdx.x % 32) {}

  // Queues up for the next tile; some time before take(), which then waits less.
  __device__ __forceinline__ void queue_up() {
    if (lane_ == 0) ticket_ = atomicAdd(queue_.head, 1u);
  }

  // The tile that take() will return, or none if it is not known yet.
  __device__ __forceinline__ std::uint32_t next() const {
    std::uint32_t got = 0;
    if (lane_ == 0) {
      got = DeviceCounter(queue_.entry[ticket_ & queue_.mask]).load(cuda::memory_order_relaxed);
    }
    return __shfl_sync(~0u, got, 0) - 1;
  }

  // Waits for a tile; false when there will be none any more.
  __device__ __forceinline__ bool take(TakenTile& taken) const {
    std::uint32_t got = 0, old = 0;
    if (lane_ == 0) {
      DeviceCounter entry(queue_.entry[ticket_ & queue_.mask]);
      while ((got = entry.load(cuda::memory_order_relaxed)) == 0 && !all_done()) __nanosleep(100);
      if (got != 0) {
        entry.store(0, cuda::memory_order_relaxed);
        old = DeviceCounter(state_[got - 1])
                  .exchange(kTileAtWork | kTileTouched, cuda::memory_order_relaxed);
        fence();
      }
    }
    __syncwarp();
    got = __shfl_sync(~0u, got, 0);
    old = __shfl_sync(~0u, old, 0);
    taken.item = got - 1;
    taken.first = (old & kTileTouched) == 0;
    taken.fresh = (old & kTileFresh) != 0;
    return got != 0;
  }

  // Wakes the tile of every lane that wants to.
  __device__ __forceinline__ void wake(bool wants, std::uint32_t item,
                                       std::uint32_t how = 0) const {
    std::uint32_t old = kTileWaits;
    if (wants) {
      old = DeviceCounter(state_[item]).fetch_or(kTileWaits | how, cuda::memory_order_relaxed);
    }
    add((old & (kTileWaits | kTileAtWork)) == 0, item);
  }

  __device__ __forceinline__ void leave(std::uint32_t item) const {
    __syncwarp();
    std::uint32_t old = 0;
    if (lane_ == 0) {
      old = DeviceCounter(state_[item]).fetch_and(~kTileAtWork, cuda::memory_order_relaxed);
    }
    add((old & kTileWaits) != 0, item);
    if (lane_ == 0) atomicAdd(queue_.added_done, 1ull << 32);
  }

 private:
  // Whether as many visits were done as tiles were added. One word holds both numbers: a warp's
  // additions come before the end of its visit in the order of that word's values.
  __device__ __forceinline__ bool all_done() const {
    const std::uint64_t both =
        cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>(*queue_.added_done)
            .load(cuda::memory_order_relaxed);
    return static_cast<std::uint32_t>(both) == static_cast<std::uint32_t>(both >> 32);
  }
  // A slot is free again before its turn comes round, unless a warp was held up there.
  __device__ __forceinline__ void add(bool wants, std::uint32_t item) const {
    const unsigned who = __ballot_sync(~0u, wants);
    if (who == 0) return;
    const int first = __ffs(static_cast<int>(who)) - 1;
    std::uint32_t at = 0;
    if (static_cast<int>(lane_) == first) {
      at = static_cast<std::uint32_t>(
          atomicAdd(queue_.added_done, static_cast<unsigned long long>(__popc(who))));
    }
    at = __shfl_sync(~0u, at, first) + static_cast<unsigned>(__popc(who & ((1u << lane_) - 1)));
    if (!wants) return;
    std::uint32_t* slot = queue_.entry + (at & queue_.mask);
    while (atomicCAS(slot, 0u, item + 1) != 0) __nanosleep(100);
  }

  const DeviceTileQueue& queue_;
  std::uint32_t* const state_;
  const unsigned lane_;
  std::uint32_t ticket_ = 0;
};

}  // namespace rewise::bundle::device

// What the kernels of the labelling methods share: which item of which system a thread has, words
// that threads of several blocks share.
#pragma once

#include <cstdint>
#include <cuda/atomic>

#include "src/cuda/launch.hpp"
#include "src/single/labels/label_field.hpp"
#include "src/single/labels/label_kernels.hpp"

namespace rewise::single {

inline constexpr unsigned kLabelThreads = 256;

// `items` of every system, or a part of them; a block has items of one system only.
struct SystemItems {
  std::uint64_t items;  // of the whole system
  SystemBlocks blocks;

  SystemItems(std::uint64_t count, std::uint32_t systems, const DevicePart& part = {})
      : items(count), blocks((count + kLabelThreads - 1) / kLabelThreads, systems, part) {}
};

// Launches a kernel whose last parameter is the items; nothing where there are none.
template <class... Parameters, class... Arguments>
void launch_items(void (*kernel)(Parameters...), const SystemItems& items, detail::StreamAt stream,
                  const Arguments&... arguments) {
  if (items.blocks.count() == 0) return;
  launch(kernel, {items.blocks.count(), kLabelThreads}, stream, arguments..., items);
}

namespace device {

struct Item {
  std::uint32_t who;
  std::uint64_t index;
};

__device__ __forceinline__ Item item_of(const SystemItems& all) {
  const auto [who, block] = all.blocks.place(blockIdx.x);
  return {who, std::uint64_t{block} * kLabelThreads + threadIdx.x};
}

using SharedWord = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>;

__device__ __forceinline__ std::uint32_t load(const std::uint32_t* at) {
  return SharedWord(const_cast<std::uint32_t&>(*at)).load(cuda::memory_order_relaxed);
}
__device__ __forceinline__ void store(std::uint32_t* at, std::uint32_t value) {
  SharedWord(*at).store(value, cuda::memory_order_relaxed);
}

// Whether a pass has something to do. Flags change between kernels only.
__device__ __forceinline__ bool goes_on(const PassFlags& flags) {
  return flags.before == nullptr || *flags.before != 0;
}
// By all threads of a block: one store for what any of them has changed.
__device__ __forceinline__ void report(const PassFlags& flags, bool changed) {
  if (__syncthreads_or(changed ? 1 : 0) != 0 && threadIdx.x == 0) store(flags.changed, 1);
}

__device__ __forceinline__ unsigned lowest_lane(std::uint32_t lanes) {
  return static_cast<unsigned>(__ffs(static_cast<int>(lanes))) - 1;
}

}  // namespace device
}  // namespace rewise::single

// Shared by the kernels: a thread per item, strides over pairs of roots, passes of a fixed point.
#pragma once

#include <algorithm>

#include "src/cuda/replica_items.cuh"
#include "src/label/papers/kernels_cuda.hpp"

namespace rewise::papers {

// Calls kStep(arrays, item, more..) for every item.
template <auto kStep, class... More>
__global__ void __launch_bounds__(kItemThreads)
    each_item(const __grid_constant__ LabelArrays arrays, More... more, ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) kStep(arrays, item, more...);
}
// `count` items of every replica.
template <auto kStep, class... More>
void launch_each(std::uint64_t count, const LabelArrays& arrays, cudaStream_t stream,
                 const More&... more) {
  launch(each_item<kStep, More...>, ReplicaItems(count, arrays.replicas), stream, arrays, more...);
}

// The threads of a replica, which are those of pair_strides(), stride over its pairs of roots.
inline ReplicaItems pair_strides(const LabelArrays& arrays, const RootPairs& pairs) {
  constexpr std::uint64_t kMaxThreads = 1u << 19;  // more than a device runs at once
  const std::uint64_t each = std::max<std::uint64_t>(kMaxThreads / arrays.replicas, kItemThreads);
  return {std::clamp<std::uint64_t>(pairs.capacity, 1, each), arrays.replicas};
}
template <class F>
__device__ __forceinline__ void for_each_pair(const RootPairs& pairs, const ReplicaItems& strides,
                                              const Item& thread, const F& f) {
  const Site* list = pairs.pairs + 2 * thread.replica * pairs.capacity;
  const std::uint64_t count = pairs.count[thread.replica];
  const std::uint64_t threads = std::uint64_t{strides.blocks.per_replica.divisor} * kItemThreads;
  for (std::uint64_t i = thread.index; i < count; i += threads) f(list[2 * i], list[2 * i + 1]);
}

// Whether the previous pass changed something. Flags change between kernels only.
__device__ __forceinline__ bool goes_on(const PassFlags& flags) {
  return flags.before == nullptr || *flags.before != 0;
}
// Called by all threads of a block; stores once if any of them changed something.
__device__ __forceinline__ void report(const PassFlags& flags, bool changed) {
  if (__syncthreads_or(changed ? 1 : 0) != 0 && threadIdx.x == 0) store(flags.changed, 1);
}

}  // namespace rewise::papers

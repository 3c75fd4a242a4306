// What the kernels of a fixed point's passes share.
#pragma once

#include "src/cuda/system_items.cuh"
#include "src/label/papers/kernels.hpp"

namespace rewise::papers {

// Whether a pass has something to do. Flags change between kernels only.
__device__ __forceinline__ bool goes_on(const PassFlags& flags) {
  return flags.before == nullptr || *flags.before != 0;
}
// By all threads of a block: one store for what any of them has changed.
__device__ __forceinline__ void report(const PassFlags& flags, bool changed) {
  if (__syncthreads_or(changed ? 1 : 0) != 0 && threadIdx.x == 0) store(flags.changed, 1);
}

}  // namespace rewise::papers

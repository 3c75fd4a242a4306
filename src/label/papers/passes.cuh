// Shared by the kernels of fixed-point passes.
#pragma once

#include "src/cuda/replica_items.cuh"
#include "src/label/papers/kernels.hpp"

namespace rewise::papers {

// Whether the previous pass changed something. Flags change between kernels only.
__device__ __forceinline__ bool goes_on(const PassFlags& flags) {
  return flags.before == nullptr || *flags.before != 0;
}
// Called by all threads of a block; stores once if any of them changed something.
__device__ __forceinline__ void report(const PassFlags& flags, bool changed) {
  if (__syncthreads_or(changed ? 1 : 0) != 0 && threadIdx.x == 0) store(flags.changed, 1);
}

}  // namespace rewise::papers

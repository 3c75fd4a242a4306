// Sums over the lanes of a warp, of integers up to 128 bits, and atomic addition of 128-bit
// integers.
#pragma once

#include "src/base/wide_sum.hpp"

namespace rewise {

// The sum over kLanes lanes, returned to the first of them.
template <unsigned kLanes = 32, class T>
__device__ __forceinline__ T warp_sum(T value) {
  for (unsigned step = kLanes / 2; step > 0; step /= 2) {
    value += __shfl_down_sync(~0u, value, step);
  }
  return value;
}

template <unsigned kLanes = 32>
__device__ __forceinline__ WideSum warp_sum(WideSum value) {
  for (unsigned step = kLanes / 2; step > 0; step /= 2) {
    const auto low = static_cast<unsigned long long>(value);
    const auto high = static_cast<unsigned long long>(value >> 64);
    const unsigned long long other_low = __shfl_down_sync(~0u, low, step);
    const unsigned long long other_high = __shfl_down_sync(~0u, high, step);
    value += static_cast<WideSum>(other_high) << 64 | other_low;
  }
  return value;
}

// Several threads may add to the same sum.
__device__ __forceinline__ void atomic_add_wide(unsigned long long* low, unsigned long long* high,
                                                WideSum value) {
  const auto below = static_cast<unsigned long long>(value);
  auto above = static_cast<unsigned long long>(value >> 64);
  if (atomicAdd(low, below) + below < below) ++above;
  if (above != 0) atomicAdd(high, above);
}

}  // namespace rewise

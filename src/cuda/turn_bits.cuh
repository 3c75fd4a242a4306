// The transpose of a matrix of 32 x 32 bits that a warp holds, one word per lane.
#pragma once

#include <cstdint>

namespace rewise {

// Bit l of lane r's result is bit r of lane l's word. All 32 lanes take part.
__device__ __forceinline__ std::uint32_t turn_bits(std::uint32_t x) {
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t mask = 0x0000FFFFu;
#pragma unroll
  for (unsigned j = 16; j != 0; j >>= 1) {
    const std::uint32_t y = __shfl_xor_sync(~0u, x, j);
    x = (lane & j) == 0 ? (x & mask) | (y & mask) << j : (x & ~mask) | (y & ~mask) >> j;
    mask ^= mask << (j >> 1);
  }
  return x;
}

}  // namespace rewise

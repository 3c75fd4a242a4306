// Counting bits by position on the device: a binary counter per bit of a word.
#pragma once

#include <cstdint>

#include "src/bundle/local.cuh"

namespace rewise::bundle::device {

// A word of every lane, turned: bit l of lane r's is bit r of lane l's.
__device__ __forceinline__ std::uint32_t turned(std::uint32_t x) {
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

template <int kPlanes>
struct Counter {
  std::uint32_t plane[kPlanes]{};

  __device__ __forceinline__ void add(std::uint32_t x) { add<1>(&x); }
  // A number of N planes.
  template <int N>
  __device__ __forceinline__ void add(const std::uint32_t* x) {
    std::uint32_t carry = 0;
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) {
      const std::uint32_t y = p < N ? x[p] : 0;
      const std::uint32_t next = majority(plane[p], y, carry);
      plane[p] = xor3(plane[p], y, carry);
      carry = next;
    }
  }
  // Sum over the warp's lanes of bit position `lane`.
  __device__ __forceinline__ unsigned of_lane() const {
    unsigned sum = 0;
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) sum += static_cast<unsigned>(__popc(turned(plane[p]))) << p;
    return sum;
  }
};

}  // namespace rewise::bundle::device

// Counting bits by position on the device: a binary counter per bit of a word.
#pragma once

#include <cstdint>

#include "src/bundle/local/local.cuh"
#include "src/cuda/turn_bits.cuh"

namespace rewise::bundle::device {

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
    for (int p = 0; p < kPlanes; ++p)
      sum += static_cast<unsigned>(__popc(turn_bits(plane[p]))) << p;
    return sum;
  }
};

}  // namespace rewise::bundle::device

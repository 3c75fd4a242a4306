// Counting bits by position over words that come in groups of a known length: carry-save adders
// (Harley and Seal, as in Warren, Hacker's Delight, section 5-1). A full adder takes two words of a
// weight into the plane of that weight and hands on one word of twice the weight, so a word costs
// two instructions, whatever the number of planes.
#pragma once

#include <cstdint>

#include "src/bundle/local/local.cuh"

namespace rewise::bundle::device {

template <int kPlanes>
struct Tally {
  std::uint32_t plane[kPlanes]{}, waiting[kPlanes];

  // Word n of its group; n is known to the compiler wherever loops are unrolled.
  template <int kWeight = 0>
  __device__ __forceinline__ void add(unsigned n, std::uint32_t x) {
    if (n % 2 == 0) {
      waiting[kWeight] = x;
      return;
    }
    const std::uint32_t carry = majority(plane[kWeight], waiting[kWeight], x);
    plane[kWeight] = xor3(plane[kWeight], waiting[kWeight], x);
    if constexpr (kWeight + 1 < kPlanes) add<kWeight + 1>(n / 2, carry);
  }
  // Ends a group of n words: adds those that wait.
  __device__ __forceinline__ void close(unsigned n) {
#pragma unroll
    for (int weight = 0; weight < kPlanes; ++weight) {
      if ((n >> weight) % 2 == 0) continue;
      std::uint32_t carry = waiting[weight];
#pragma unroll
      for (int p = weight; p < kPlanes; ++p) {
        const std::uint32_t next = plane[p] & carry;
        plane[p] ^= carry;
        carry = next;
      }
    }
  }
};

}  // namespace rewise::bundle::device

// Bit operations on the device: masks of the sites of a row (64 bits from any position, and runs),
// the transpose of 32 x 32 bits, and counters per bit position. A run is a stretch of sites that
// bonds along the row join; `starts` marks the first site of each run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/bits.hpp"

namespace rewise {

// Returns 64 bits, starting at bit `site`, of a mask whose 32-bit words are `step` apart.
__device__ __forceinline__ std::uint64_t bits_from(const std::uint32_t* words, std::uint32_t step,
                                                   std::uint32_t site) {
  const std::uint32_t* word = words + static_cast<std::size_t>(site >> 5) * step;
  const std::uint32_t shift = site & 31u;
  std::uint32_t low = word[0], high = word[step];
  if (shift != 0) {
    low = __funnelshift_r(low, high, shift);
    high = __funnelshift_r(high, word[2 * static_cast<std::size_t>(step)], shift);
  }
  return static_cast<std::uint64_t>(high) << 32 | low;
}

__device__ __forceinline__ bool bit_at(const std::uint32_t* words, std::uint64_t index) {
  return (words[index >> 5] >> (index & 31u) & 1u) != 0;
}

// The lowest `count` bits, 0 <= count <= 64.
__device__ __forceinline__ std::uint64_t low_bits(std::uint32_t count) {
  return count == 0 ? 0 : ~std::uint64_t{0} >> (64 - count);
}

__device__ __forceinline__ unsigned lowest(std::uint32_t bits) {
  return static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1;
}
__device__ __forceinline__ unsigned lowest(std::uint64_t bits) {
  return static_cast<unsigned>(__ffsll(static_cast<long long>(bits))) - 1;
}

__device__ __forceinline__ unsigned highest(std::uint32_t bits) {
  return 31 - static_cast<unsigned>(__clz(static_cast<int>(bits)));
}
__device__ __forceinline__ unsigned highest(std::uint64_t bits) {
  return 63 - static_cast<unsigned>(__clzll(static_cast<long long>(bits)));
}

// Returns the first site of the run of site x.
__device__ __forceinline__ unsigned run_start(std::uint64_t starts, unsigned x) {
  return highest(starts & ~std::uint64_t{0} >> (63 - x));
}

// The first marked site of every run that has one. The addition starts a carry at the start of each
// run. The carry passes unmarked sites and sets the first marked one; the last site of a run stops
// every carry.
template <class Word>
__device__ __forceinline__ Word first_of_runs(Word starts, Word marked) {
  const Word stops = marked | starts >> 1 | Word{1} << (8 * sizeof(Word) - 1);
  return (~stops + starts) & marked;
}

// The transpose of a matrix of 32 x 32 bits that a warp holds, one word per lane: bit l of lane r's
// result is bit r of lane l's word. All 32 lanes must call it.
__device__ __forceinline__ std::uint32_t transpose_bits(std::uint32_t x) {
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

// A binary counter per bit of a word.
template <int kBits>
struct Counter {
  std::uint32_t bit[kBits]{};

  __device__ __forceinline__ void add(std::uint32_t x) { add<1>(&x); }
  // Adds a number of N bits at each bit position.
  template <int N>
  __device__ __forceinline__ void add(const std::uint32_t* x) {
    std::uint32_t carry = 0;
#pragma unroll
    for (int p = 0; p < kBits; ++p) {
      const std::uint32_t y = p < N ? x[p] : 0;
      const std::uint32_t next = majority(bit[p], y, carry);
      bit[p] = xor3(bit[p], y, carry);
      carry = next;
    }
  }
  // Sum over the warp's lanes of bit position `lane`.
  __device__ __forceinline__ unsigned of_lane() const {
    unsigned sum = 0;
#pragma unroll
    for (int p = 0; p < kBits; ++p)
      sum += static_cast<unsigned>(__popc(transpose_bits(bit[p]))) << p;
    return sum;
  }
};

// Counts bits by position over words that come in groups of a known length, by carry-save adders
// (Harley and Seal, as in Warren, Hacker's Delight, section 5-1). A full adder adds two words of a
// weight to the bit of that weight and passes on one word of twice the weight, so a word costs
// two instructions, whatever the number of bits.
template <int kBits>
struct CarrySaveCounter {
  std::uint32_t bit[kBits]{}, waiting[kBits];

  // Adds word n of its group; n is a compile-time constant in unrolled loops.
  template <int kWeight = 0>
  __device__ __forceinline__ void add(unsigned n, std::uint32_t x) {
    if (n % 2 == 0) {
      waiting[kWeight] = x;
      return;
    }
    const std::uint32_t carry = majority(bit[kWeight], waiting[kWeight], x);
    bit[kWeight] = xor3(bit[kWeight], waiting[kWeight], x);
    if constexpr (kWeight + 1 < kBits) add<kWeight + 1>(n / 2, carry);
  }
  // Ends a group of n words: adds the pending ones.
  __device__ __forceinline__ void close(unsigned n) {
#pragma unroll
    for (int weight = 0; weight < kBits; ++weight) {
      if ((n >> weight) % 2 == 0) continue;
      std::uint32_t carry = waiting[weight];
#pragma unroll
      for (int p = weight; p < kBits; ++p) {
        const std::uint32_t next = bit[p] & carry;
        bit[p] ^= carry;
        carry = next;
      }
    }
  }
};

}  // namespace rewise

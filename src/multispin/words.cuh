// The words of a pack of word groups (device_layout.hpp) in registers, and their random numbers.
#pragma once

#include <cstdint>

#include "src/base/bits.hpp"
#include "src/multispin/device_layout.hpp"
#include "src/multispin/rules.hpp"
#include "src/random/philox_shared.hpp"

namespace rewise::multispin::device {

// The words of a pack of kVec word groups at one slot.
template <int kVec>
struct GroupWords {
  std::uint32_t w[kVec];
};

// Read and write them by accesses of 16 or 8 bytes if kVec is a multiple of 4 or 2.
template <int kVec>
__device__ __forceinline__ GroupWords<kVec> load(const std::uint32_t* p) {
  GroupWords<kVec> words;
  if constexpr (kVec % 4 == 0) {
#pragma unroll
    for (int v = 0; v < kVec; v += 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(p + v);
      words.w[v] = four.x;
      words.w[v + 1] = four.y;
      words.w[v + 2] = four.z;
      words.w[v + 3] = four.w;
    }
  } else if constexpr (kVec % 2 == 0) {
#pragma unroll
    for (int v = 0; v < kVec; v += 2) {
      const uint2 two = *reinterpret_cast<const uint2*>(p + v);
      words.w[v] = two.x;
      words.w[v + 1] = two.y;
    }
  } else {
#pragma unroll
    for (int v = 0; v < kVec; ++v) words.w[v] = p[v];
  }
  return words;
}
template <int kVec>
__device__ __forceinline__ void store(std::uint32_t* p, const GroupWords<kVec>& v) {
  if constexpr (kVec % 4 == 0) {
#pragma unroll
    for (int k = 0; k < kVec; k += 4) {
      *reinterpret_cast<uint4*>(p + k) = make_uint4(v.w[k], v.w[k + 1], v.w[k + 2], v.w[k + 3]);
    }
  } else if constexpr (kVec % 2 == 0) {
#pragma unroll
    for (int k = 0; k < kVec; k += 2) {
      *reinterpret_cast<uint2*>(p + k) = make_uint2(v.w[k], v.w[k + 1]);
    }
  } else {
#pragma unroll
    for (int k = 0; k < kVec; ++k) p[k] = v.w[k];
  }
}

// The products of Philox that do not depend on the call or word group (rounds 1 to 3 at one item);
// src/random/philox-inl.hpp is the vectorised version.
struct SharedItem {
  std::uint32_t item_lo, c1, third_hi, third_lo;

  __device__ __forceinline__ SharedItem(std::uint32_t seed_low, std::uint32_t seed_high,
                                        std::uint32_t stream, std::uint32_t step,
                                        std::uint32_t item) {
    std::uint32_t high;
    multiply_wide(kPhiloxM0, item, high, item_lo);
    multiply_wide(kPhiloxM1, high ^ (stream ^ seed_high), high, c1);
    const std::uint32_t c0 = high ^ ((kPhiloxM1 * step) ^ (seed_low + kPhiloxW0));
    multiply_wide(kPhiloxM0, c0, high, third_lo);
    third_hi = high ^ (seed_high + 2 * kPhiloxW1);
  }
};

// The uniform words of one call of one word group (second round).
struct CallWords {
  std::uint32_t hi, lo;

  __device__ __forceinline__ CallWords(std::uint32_t seed_low, std::uint32_t seed_high,
                                       std::uint32_t group, std::uint32_t call,
                                       std::uint32_t step) {
    const std::uint32_t c0 = __umulhi(kPhiloxM1, step) ^ lane_word(group, call) ^ seed_low;
    hi = __umulhi(kPhiloxM0, c0) ^ (seed_high + kPhiloxW1);
    lo = kPhiloxM0 * c0;
  }
  __device__ __forceinline__ CallWords() {}
};

__device__ __forceinline__ Words4 finish_call(const SharedItem& s, const CallWords& call,
                                              std::uint32_t seed_low, std::uint32_t seed_high) {
  std::uint32_t high, c1;
  multiply_wide(kPhiloxM1, s.item_lo ^ call.hi, high, c1);
  std::uint32_t c0 = xor3(high, s.c1, seed_low + 2 * kPhiloxW0);
  std::uint32_t c2 = s.third_hi ^ call.lo;
  std::uint32_t c3 = s.third_lo;
#pragma unroll
  for (int round = 3; round < kPhiloxRounds; ++round) {
    std::uint32_t hi0, lo0, hi1, lo1;
    multiply_wide(kPhiloxM0, c0, hi0, lo0);
    multiply_wide(kPhiloxM1, c2, hi1, lo1);
    c0 = xor3(hi1, c1, seed_low + static_cast<std::uint32_t>(round) * kPhiloxW0);
    c1 = lo1;
    c2 = xor3(hi0, c3, seed_high + static_cast<std::uint32_t>(round) * kPhiloxW1);
    c3 = lo0;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace rewise::multispin::device

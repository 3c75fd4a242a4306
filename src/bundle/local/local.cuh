// Device code of the local updates (local.hpp): bit-sliced counts, lazy comparison, addressed
// draws.
#pragma once

#include <cstdint>

#include "src/bundle/device_layout.hpp"
#include "src/bundle/rules.hpp"

namespace rewise::bundle::device {

__device__ __forceinline__ std::uint32_t xor3(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return a ^ b ^ c;
}
__device__ __forceinline__ std::uint32_t majority(std::uint32_t a, std::uint32_t b,
                                                  std::uint32_t c) {
  return (a & b) | (c & (a | b));
}

// Both halves of a product, by one instruction (a 64-bit product makes two of it).
__device__ __forceinline__ void multiply(std::uint32_t a, std::uint32_t b, std::uint32_t& hi,
                                         std::uint32_t& lo) {
  asm("{ .reg .u64 p; mul.wide.u32 p, %2, %3; mov.b64 {%1, %0}, p; }"
      : "=r"(hi), "=r"(lo)
      : "r"(a), "r"(b));
}

// The products of Philox that do not depend on the call or bundle (rounds 1 to 3 at one item); see
// src/random/philox-inl.hpp, of which this is the scalar twin.
struct SharedItem {
  std::uint32_t item_lo, c1, third_hi, third_lo;

  __device__ __forceinline__ SharedItem(std::uint32_t seed_low, std::uint32_t seed_high,
                                        std::uint32_t stream, std::uint32_t step,
                                        std::uint32_t item) {
    std::uint32_t high;
    multiply(kPhiloxM0, item, high, item_lo);
    multiply(kPhiloxM1, high ^ (stream ^ seed_high), high, c1);
    const std::uint32_t c0 = high ^ ((kPhiloxM1 * step) ^ (seed_low + kPhiloxW0));
    multiply(kPhiloxM0, c0, high, third_lo);
    third_hi = high ^ (seed_high + 2 * kPhiloxW1);
  }
};

// The uniform words of one call of one bundle (second round).
struct CallWords {
  std::uint32_t hi, lo;

  __device__ __forceinline__ CallWords(std::uint32_t seed_low, std::uint32_t seed_high,
                                       std::uint32_t who, std::uint32_t call, std::uint32_t step) {
    const std::uint32_t c0 = __umulhi(kPhiloxM1, step) ^ lane_word(who, call) ^ seed_low;
    hi = __umulhi(kPhiloxM0, c0) ^ (seed_high + kPhiloxW1);
    lo = kPhiloxM0 * c0;
  }
  __device__ __forceinline__ CallWords() {}
};

__device__ __forceinline__ Words4 finish_call(const SharedItem& s, const CallWords& call,
                                              std::uint32_t seed_low, std::uint32_t seed_high) {
  std::uint32_t high, c1;
  multiply(kPhiloxM1, s.item_lo ^ call.hi, high, c1);
  std::uint32_t c0 = xor3(high, s.c1, seed_low + 2 * kPhiloxW0);
  std::uint32_t c2 = s.third_hi ^ call.lo;
  std::uint32_t c3 = s.third_lo;
#pragma unroll
  for (int round = 3; round < kPhiloxRounds; ++round) {
    std::uint32_t hi0, lo0, hi1, lo1;
    multiply(kPhiloxM0, c0, hi0, lo0);
    multiply(kPhiloxM1, c2, hi1, lo1);
    c0 = xor3(hi1, c1, seed_low + static_cast<std::uint32_t>(round) * kPhiloxW0);
    c1 = lo1;
    c2 = xor3(hi0, c3, seed_high + static_cast<std::uint32_t>(round) * kPhiloxW1);
    c3 = lo0;
  }
  return {{c0, c1, c2, c3}};
}

// Binary planes of the number of set bits among K words.
template <int K>
struct Planes {
  static constexpr int kCount = K == 2 ? 2 : K < 8 ? 3 : 4;
  std::uint32_t p[4];

  __device__ __forceinline__ Planes() {}
  __device__ __forceinline__ explicit Planes(const std::uint32_t* x) {
    p[2] = p[3] = 0;
    if constexpr (K == 2) {
      p[0] = x[0] ^ x[1];
      p[1] = x[0] & x[1];
    } else if constexpr (K == 4) {
      const std::uint32_t s = xor3(x[0], x[1], x[2]), c = majority(x[0], x[1], x[2]);
      p[0] = s ^ x[3];
      p[1] = c ^ (s & x[3]);
      p[2] = c & s & x[3];
    } else if constexpr (K == 6) {
      const std::uint32_t s = xor3(x[0], x[1], x[2]), c = majority(x[0], x[1], x[2]);
      const std::uint32_t t = xor3(x[3], x[4], x[5]), e = majority(x[3], x[4], x[5]);
      p[0] = s ^ t;
      p[1] = xor3(c, e, s & t);
      p[2] = majority(c, e, s & t);
    } else {
      const std::uint32_t s = xor3(x[0], x[1], x[2]), c = majority(x[0], x[1], x[2]);
      const std::uint32_t t = xor3(x[3], x[4], x[5]), e = majority(x[3], x[4], x[5]);
      const std::uint32_t u = x[6] ^ x[7], f = x[6] & x[7];
      p[0] = xor3(s, t, u);
      const std::uint32_t g = majority(s, t, u);
      const std::uint32_t v = xor3(c, e, f), h = majority(c, e, f);
      p[1] = v ^ g;
      p[2] = h ^ (v & g);
      p[3] = h & v & g;
    }
  }
  __device__ __forceinline__ std::uint32_t equal(unsigned n) const {
    std::uint32_t m = n & 1 ? p[0] : ~p[0];
    m &= n & 2 ? p[1] : ~p[1];
    if constexpr (kCount > 2) m &= n & 4 ? p[2] : ~p[2];
    if constexpr (kCount > 3) m &= n & 8 ? p[3] : ~p[3];
    return m;
  }
};

// Neighbours of a regular cell: place i of its colour. f(k, place in the other colour) for k = 0..
template <int kDim>
struct Around {
  std::uint32_t row, h;
  bool odd;

  __device__ __forceinline__ Around(const DeviceLattice& g, int colour, std::uint32_t i)
      : row(i / g.half_row), h(i - row * g.half_row) {
    odd = ((static_cast<unsigned>(colour) + g.row_parity[row]) & 1u) != 0;
  }
  __device__ __forceinline__ std::uint32_t site(const DeviceLattice& g) const {
    return (row * g.half_row + h) * 2 + (odd ? 1u : 0u);
  }
  __device__ __forceinline__ void places(const DeviceLattice& g, std::uint32_t* at) const {
    const std::uint32_t start = row * g.half_row;
    const std::uint32_t ahead = h + 1 == g.half_row ? 0 : h + 1;
    const std::uint32_t behind = h == 0 ? g.half_row - 1 : h - 1;
    at[0] = start + (odd ? ahead : h);
    at[1] = start + (odd ? h : behind);
#pragma unroll
    for (int k = 0; k < 2 * (kDim - 1); ++k) {
      at[2 + k] =
          g.row_neighbour[row * static_cast<unsigned>(2 * (kDim - 1)) + static_cast<unsigned>(k)] *
              g.half_row +
          h;
    }
  }
};

template <int kVec>
struct Pack {
  std::uint32_t w[kVec];
};

template <int kVec>
__device__ __forceinline__ Pack<kVec> load(const std::uint32_t* p) {
  if constexpr (kVec == 4) {
    const uint4 v = *reinterpret_cast<const uint4*>(p);
    return {{v.x, v.y, v.z, v.w}};
  } else if constexpr (kVec == 2) {
    const uint2 v = *reinterpret_cast<const uint2*>(p);
    return {{v.x, v.y}};
  } else {
    return {{*p}};
  }
}
template <int kVec>
__device__ __forceinline__ void store(std::uint32_t* p, const Pack<kVec>& v) {
  if constexpr (kVec == 4) {
    *reinterpret_cast<uint4*>(p) = make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]);
  } else if constexpr (kVec == 2) {
    *reinterpret_cast<uint2*>(p) = make_uint2(v.w[0], v.w[1]);
  } else {
    *p = v.w[0];
  }
}

}  // namespace rewise::bundle::device

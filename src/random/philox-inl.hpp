// Philox4x32-7 for one vector of items at a time (Highway; included once per instruction set).
// Equal to src/random/philox.hpp lane by lane.
//
// Cost per vector: 14 products for four words in each lane. Calls with the same items and uniform
// other counter words (SharedItems) share three products and compute two as scalars, which leaves 9
// products per call.
#if defined(RW_PHILOX_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef RW_PHILOX_INL_HPP_
#undef RW_PHILOX_INL_HPP_
#else
#define RW_PHILOX_INL_HPP_
#endif

#include "src/base/simd-inl.hpp"
#include "src/random/philox.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {

struct Vec4 {
  V32 w0, w1, w2, w3;
};

// (upper, lower) 32 bits of lane-wise products.
HWY_INLINE void multiply(V32 a, V32 m, V32& hi, V32& lo) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  const __m512i even = _mm512_mul_epu32(a.raw, m.raw);
  const __m512i odd = _mm512_mul_epu32(_mm512_shuffle_epi32(a.raw, _MM_PERM_CDAB), m.raw);
  hi.raw = _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_CDAB);
  lo.raw = _mm512_mask_shuffle_epi32(even, 0xAAAA, odd, _MM_PERM_CDAB);
#elif HWY_TARGET == HWY_SCALAR
  const D32 d;
  hi = hn::Set(d, mulhi32(hn::GetLane(a), hn::GetLane(m)));
  lo = hn::Mul(a, m);
#else
  const D32 d;
  const auto even = hn::BitCast(d, hn::MulEven(a, m));
  const auto odd = hn::BitCast(d, hn::MulEven(hn::Shuffle2301(a), m));
  hi = hn::OddEven(odd, hn::Shuffle2301(even));
  lo = hn::OddEven(hn::Shuffle2301(odd), even);
#endif
}

// One round with full vectors.
HWY_INLINE void philox_round(Vec4& c, std::uint32_t k0, std::uint32_t k1) {
  const D32 d;
  V32 hi0, lo0, hi1, lo1;
  multiply(c.w0, hn::Set(d, kPhiloxM0), hi0, lo0);
  multiply(c.w2, hn::Set(d, kPhiloxM1), hi1, lo1);
  c.w0 = xor3(hi1, c.w1, hn::Set(d, k0));
  c.w1 = lo1;
  c.w2 = xor3(hi0, c.w3, hn::Set(d, k1));
  c.w3 = lo0;
}

// All seven rounds from any counters.
HWY_INLINE Vec4 philox(Vec4 c, std::uint32_t k0, std::uint32_t k1) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    philox_round(c, k0, k1);
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  return c;
}

// The part of rounds 1 and 2 that does not depend on the item, for calls 0 .. 7 of one word group
// or replica, step and stream; the calls differ in their lane word. Computed once per update.
struct CallTable {
  std::uint32_t seed_low, seed_high;
  std::uint32_t stream;        // stream word (items below 2^32)
  std::uint32_t step_low;      // lower half of M1 * step
  std::uint32_t second_hi[8];  // per call: upper half of the second round's uniform product,
                               // with its key
  std::uint32_t second_lo[8];  // per call: its lower half

  CallTable(std::uint64_t seed, Stream stream_id, std::uint32_t system, std::uint32_t step)
      : seed_low(static_cast<std::uint32_t>(seed)),
        seed_high(static_cast<std::uint32_t>(seed >> 32)),
        stream(stream_word(stream_id, 0)),
        step_low(kPhiloxM1 * step) {
    for (std::uint32_t call = 0; call < 8; ++call) {
      const std::uint32_t c0 = mulhi32(kPhiloxM1, step) ^ lane_word(system, call) ^ seed_low;
      second_hi[call] = mulhi32(kPhiloxM0, c0) ^ (seed_high + kPhiloxW1);
      second_lo[call] = kPhiloxM0 * c0;
    }
  }
};

// The products that all calls at one vector of items share (rounds 1 to 3).
struct SharedItems {
  V32 item_lo;   // lower half of M0 * item
  V32 c1;        // second word after round 2
  V32 third_hi;  // upper half of the third round's shared product, with its key
  V32 third_lo;

  HWY_INLINE SharedItems(const CallTable& t, V32 item) {
    const D32 d;
    V32 hi, c0;
    multiply(item, hn::Set(d, kPhiloxM0), hi, item_lo);
    const V32 c2 = hn::Xor(hi, hn::Set(d, t.stream ^ t.seed_high));
    multiply(c2, hn::Set(d, kPhiloxM1), hi, c1);
    c0 = hn::Xor(hi, hn::Set(d, t.step_low ^ (t.seed_low + kPhiloxW0)));
    multiply(c0, hn::Set(d, kPhiloxM0), third_hi, third_lo);
    third_hi = hn::Xor(third_hi, hn::Set(d, t.seed_high + 2 * kPhiloxW1));
  }

  // The four words of one call.
  HWY_INLINE Vec4 call(const CallTable& t, unsigned n) const {
    const D32 d;
    V32 hi, lo;
    multiply(hn::Xor(item_lo, hn::Set(d, t.second_hi[n])), hn::Set(d, kPhiloxM1), hi, lo);
    Vec4 c;
    c.w0 = xor3(hi, c1, hn::Set(d, t.seed_low + 2 * kPhiloxW0));
    c.w1 = lo;
    c.w2 = hn::Xor(third_hi, hn::Set(d, t.second_lo[n]));
    c.w3 = third_lo;
    std::uint32_t k0 = t.seed_low + 3 * kPhiloxW0, k1 = t.seed_high + 3 * kPhiloxW1;
    for (int round = 3; round < kPhiloxRounds; ++round) {
      philox_round(c, k0, k1);
      k0 += kPhiloxW0;
      k1 += kPhiloxW1;
    }
    return c;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();
#endif

// Bitwise operations on vectors (Highway; included once per instruction set).
#if defined(RW_SIMD_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef RW_SIMD_INL_HPP_
#undef RW_SIMD_INL_HPP_
#else
#define RW_SIMD_INL_HPP_
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "src/base/bits.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<std::uint32_t>;
using V32 = hn::Vec<D32>;
using M32 = hn::Mask<D32>;

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
// Any function of three bits: bit 4 a + 2 b + c of kTable.
template <int kTable>
HWY_INLINE V32 logic3(V32 a, V32 b, V32 c) {
  return V32{_mm512_ternarylogic_epi32(a.raw, b.raw, c.raw, kTable)};
}
HWY_INLINE V32 xor3(V32 a, V32 b, V32 c) { return logic3<0x96>(a, b, c); }
HWY_INLINE V32 majority(V32 a, V32 b, V32 c) { return logic3<0xE8>(a, b, c); }
// mask ? a : b, bit by bit.
HWY_INLINE V32 select(V32 mask, V32 a, V32 b) { return logic3<0xCA>(mask, a, b); }
// a & ~(b ^ c)
HWY_INLINE V32 and_equal(V32 a, V32 b, V32 c) { return logic3<0x90>(a, b, c); }
// a | (b & c)
HWY_INLINE V32 or_and(V32 a, V32 b, V32 c) { return logic3<0xF8>(a, b, c); }
#else
HWY_INLINE V32 xor3(V32 a, V32 b, V32 c) { return hn::Xor(a, hn::Xor(b, c)); }
HWY_INLINE V32 majority(V32 a, V32 b, V32 c) {
  return hn::Or(hn::And(a, b), hn::And(c, hn::Or(a, b)));
}
HWY_INLINE V32 select(V32 mask, V32 a, V32 b) {
  return hn::Or(hn::And(mask, a), hn::AndNot(mask, b));
}
HWY_INLINE V32 and_equal(V32 a, V32 b, V32 c) { return hn::AndNot(hn::Xor(b, c), a); }
HWY_INLINE V32 or_and(V32 a, V32 b, V32 c) { return hn::Or(a, hn::And(b, c)); }
#endif

HWY_INLINE V32 zero() { return hn::Zero(D32()); }
HWY_INLINE V32 ones() { return hn::Set(D32(), ~0u); }
HWY_INLINE V32 invert(V32 v) { return hn::Xor(v, ones()); }
HWY_INLINE bool all_zero(V32 v) { return hn::AllTrue(D32(), hn::Eq(v, zero())); }

// The number of set bits among K words, 1 <= K <= 8, per bit position. Its binary digits are p0
// (lowest) to p3.
template <int K>
struct BitCount {
  static constexpr int kCount = K < 4 ? 2 : K < 8 ? 3 : 4;
  V32 p0, p1, p2, p3;

  HWY_INLINE explicit BitCount(const V32* x) {
    p2 = p3 = hn::Zero(D32());
    if constexpr (K == 1) {
      p0 = x[0];
      p1 = hn::Zero(D32());
    } else if constexpr (K == 2) {
      p0 = hn::Xor(x[0], x[1]);
      p1 = hn::And(x[0], x[1]);
    } else if constexpr (K == 3) {
      p0 = xor3(x[0], x[1], x[2]);
      p1 = majority(x[0], x[1], x[2]);
    } else if constexpr (K == 4) {
      const V32 s = xor3(x[0], x[1], x[2]), c = majority(x[0], x[1], x[2]);
      p0 = hn::Xor(s, x[3]);
      const V32 c2 = hn::And(s, x[3]);
      p1 = hn::Xor(c, c2);
      p2 = hn::And(c, c2);
    } else if constexpr (K == 5) {
      const V32 s = xor3(x[0], x[1], x[2]), c = majority(x[0], x[1], x[2]);
      p0 = xor3(s, x[3], x[4]);
      const V32 e = majority(s, x[3], x[4]);
      p1 = hn::Xor(c, e);
      p2 = hn::And(c, e);
    } else if constexpr (K == 6) {
      const V32 s = xor3(x[0], x[1], x[2]), c = majority(x[0], x[1], x[2]);
      const V32 t = xor3(x[3], x[4], x[5]), e = majority(x[3], x[4], x[5]);
      p0 = hn::Xor(s, t);
      const V32 f = hn::And(s, t);
      p1 = xor3(c, e, f);
      p2 = majority(c, e, f);
    } else if constexpr (K == 7) {
      const V32 s = xor3(x[0], x[1], x[2]), c = majority(x[0], x[1], x[2]);
      const V32 t = xor3(x[3], x[4], x[5]), e = majority(x[3], x[4], x[5]);
      p0 = xor3(s, t, x[6]);
      const V32 g = majority(s, t, x[6]);
      p1 = xor3(c, e, g);
      p2 = majority(c, e, g);
    } else {
      const V32 s = xor3(x[0], x[1], x[2]), c = majority(x[0], x[1], x[2]);
      const V32 t = xor3(x[3], x[4], x[5]), e = majority(x[3], x[4], x[5]);
      const V32 u = hn::Xor(x[6], x[7]), f = hn::And(x[6], x[7]);
      p0 = xor3(s, t, u);
      const V32 g = majority(s, t, u);
      const V32 v = xor3(c, e, f), h = majority(c, e, f);
      p1 = hn::Xor(v, g);
      const V32 i = hn::And(v, g);
      p2 = hn::Xor(h, i);
      p3 = hn::And(h, i);
    }
  }
  // Bit positions whose count is at least n.
  template <unsigned n>
  HWY_INLINE V32 at_least() const {
    static_assert(n >= 1 && (n <= 4 || n > K));
    if constexpr (n > K) return hn::Zero(D32());
    V32 m = p1;
    if constexpr (n == 1) m = hn::Or(m, p0);
    if constexpr (n == 3) m = hn::And(m, p0);
    if constexpr (n == 4) return kCount > 3 ? hn::Or(p2, p3) : p2;
    if constexpr (kCount > 2) m = hn::Or(m, p2);
    if constexpr (kCount > 3) m = hn::Or(m, p3);
    return m;
  }
  // Selects at(count) per bit position. Counts must be in [kFirst, kFirst + kMany), else the result
  // is arbitrary. at(n) is one word for all sites.
  template <unsigned kMany, unsigned kFirst = 0, class At>
  HWY_INLINE V32 pick(const At& at) const {
    if constexpr (kMany == 1) {
      return hn::Set(D32(), at(kFirst));
    } else {
      constexpr unsigned kHalf = std::bit_floor(kMany - 1);
      const V32& bit = kHalf == 1 ? p0 : kHalf == 2 ? p1 : kHalf == 4 ? p2 : p3;
      return select(bit, pick<kMany - kHalf, kFirst + kHalf>(at), pick<kHalf, kFirst>(at));
    }
  }
};

// Stores the lanes selected by `mask` contiguously and returns their number; the rest of the vector
// is overwritten with arbitrary values. (Highway's CompressStore() does not overwrite it, but it is
// slow: some processors execute it in microcode, and with AVX2 g++ copies a table of Highway 1.0.3
// to the stack in each call.)
template <class D>
HWY_INLINE std::size_t store_packed(hn::VFromD<D> v, hn::Mask<D> mask, D d, std::uint32_t* to) {
#if HWY_TARGET == HWY_AVX2
  std::uint8_t bits[8];
  hn::StoreMaskBits(d, mask, bits);
  const auto lanes = hn::LoadU(hn::Rebind<std::uint8_t, D>(), kSetBits[bits[0]].data());
  hn::StoreU(hn::TableLookupLanes(v, hn::IndicesFromVec(d, hn::PromoteTo(d, lanes))), d, to);
  return static_cast<std::size_t>(std::popcount(bits[0]));
#else
  hn::StoreU(hn::Compress(v, mask), d, to);
  return hn::CountTrue(d, mask);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();
#endif

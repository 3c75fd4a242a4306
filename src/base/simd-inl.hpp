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

// Bit-sliced arithmetic on vectors of words. Planes counts the set bits of several words per bit
// position; draw_below() compares random binary fractions with thresholds and draws only the digits
// that it needs (rules.hpp).
#if defined(RW_MULTISPIN_COUNT_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef RW_MULTISPIN_COUNT_INL_HPP_
#undef RW_MULTISPIN_COUNT_INL_HPP_
#else
#define RW_MULTISPIN_COUNT_INL_HPP_
#endif

#include <bit>

#include "src/multispin/layout.hpp"
#include "src/multispin/rules.hpp"
#include "src/random/philox-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::multispin {
namespace HWY_NAMESPACE {
using namespace rewise::HWY_NAMESPACE;

// The number of set bits among K words, 1 <= K <= 8, per bit position. Its binary digits are p0
// (lowest) to p3.
template <int K>
struct Planes {
  static constexpr int kCount = K < 4 ? 2 : K < 8 ? 3 : 4;
  V32 p0, p1, p2, p3;

  HWY_INLINE explicit Planes(const V32* x) {
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
      const V32& plane = kHalf == 1 ? p0 : kHalf == 2 ? p1 : kHalf == 4 ? p2 : p3;
      return select(plane, pick<kMany - kHalf, kFirst + kHalf>(at), pick<kHalf, kFirst>(at));
    }
  }
};

// Gather the words at the slots of a list, from entry i on. In gather_signed() entries may contain
// kNegative; their words are inverted if `with_signs`.
HWY_INLINE V32 gather(const std::uint32_t* spins, const Slot* list, std::size_t i) {
  const D32 d;
  const hn::RebindToSigned<D32> ds;
  return hn::GatherIndex(d, spins, hn::BitCast(ds, hn::LoadU(d, list + i)));
}
HWY_INLINE V32 gather_signed(const std::uint32_t* spins, const Slot* list, std::size_t i,
                             bool with_signs) {
  const D32 d;
  const hn::RebindToSigned<D32> ds;
  const V32 entry = hn::LoadU(d, list + i);
  const V32 slot = hn::AndNot(hn::Set(d, kNegative), entry);
  const V32 words = hn::GatherIndex(d, spins, hn::BitCast(ds, slot));
  if (!with_signs) return words;
  return hn::Xor(words, hn::BitCast(d, hn::ShiftRight<31>(hn::BitCast(ds, entry))));
}

// Inverts x[k] at sites whose byte has bit k set.
template <int K>
HWY_INLINE void invert(const std::uint8_t* bits, V32* x) {
  const D32 d;
  const V32 byte = hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, D32>(), bits));
  for (int k = 0; k < K; ++k) {
    x[k] = hn::Xor(x[k], hn::VecFromMask(d, hn::TestBit(byte, hn::Set(d, 1u << k))));
  }
}

// Returns the replicas whose binary fraction is below their threshold, for a vector of items. Only
// replicas in `undecided` are drawn; the others return their bit of `decided`. digit(n) is digit n
// of the thresholds of all replicas. Random digits are generated four at a time, until all replicas
// are decided.
template <class Digit>
HWY_INLINE V32 draw_below(const CallTable& calls, const SharedItems& shared, V32 undecided,
                          V32 decided, const Digit& digit) {
  V32 below = decided;
  for (unsigned call = 0; call < 8; ++call) {
    const Vec4 words = shared.call(calls, call);
    const V32 r[4] = {words.w0, words.w1, words.w2, words.w3};
    HWY_UNROLL(4)
    for (unsigned w = 0; w < 4; ++w) {
      const V32 t = digit(4 * call + w);
      below = select(undecided, t, below);
      undecided = and_equal(undecided, r[w], t);
    }
    if (call > 0 && all_zero(undecided)) break;
  }
  return hn::AndNot(undecided, below);
}

// Returns the replicas of `asking` in which each bond of a vector is drawn, with threshold t.
HWY_INLINE V32 drawn(const CallTable& calls, V32 bond, V32 asking, Threshold t) {
  if (all_zero(asking)) return asking;
  const D32 d;
  const auto digit = [&](unsigned n)
                         HWY_ATTR { return hn::Set(d, threshold_digit(t, n) ? ~0u : 0u); };
  return draw_below(calls, SharedItems(calls, bond), asking, hn::Zero(d), digit);
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise::multispin
HWY_AFTER_NAMESPACE();
#endif

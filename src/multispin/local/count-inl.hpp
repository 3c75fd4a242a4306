// Bit-sliced arithmetic on vectors of words: draw_below() compares random binary fractions with
// thresholds and draws only the digits that it needs (rules.hpp). Also the transposition of 32
// words of sites to 32 words of replicas, and back.
#if defined(RW_MULTISPIN_COUNT_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef RW_MULTISPIN_COUNT_INL_HPP_
#undef RW_MULTISPIN_COUNT_INL_HPP_
#else
#define RW_MULTISPIN_COUNT_INL_HPP_
#endif

#include "src/multispin/layout.hpp"
#include "src/multispin/rules.hpp"
#include "src/random/philox-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::multispin {
namespace HWY_NAMESPACE {
using namespace rewise::HWY_NAMESPACE;

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

// Transposes a 32 x 32 bit matrix: bit r of x[i] becomes bit i of x[r].
HWY_INLINE void transpose(std::uint32_t* x) {
  std::uint32_t mask = 0x0000FFFFu;
  for (unsigned j = 16; j != 0; j >>= 1, mask ^= mask << j) {
    for (unsigned k = 0; k < 32; k += 2 * j) {
      for (unsigned i = k; i < k + j; ++i) {
        const std::uint32_t t = ((x[i] >> j) ^ x[i + j]) & mask;
        x[i + j] ^= t;
        x[i] ^= t << j;
      }
    }
  }
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

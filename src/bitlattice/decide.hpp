// Accepts or rejects the flips of one group of 128 sites of one colour, 32 at a time (rules.hpp).
// This is the inner part of the CUDA kernel; it is also compiled for the host, where it is tested.
// The vectorised CPU form is in local.cpp.
//
// Cost in 2D: eight calls of Philox for the first digits of 128 sites and usually one for the sites
// that are still undecided; a warp, which waits for its slowest thread, needs 0.6 calls more on
// average. Each digit of a word costs one selection and two operations of comparison.
#pragma once

#include <cstdint>

#include "src/base/bits.hpp"
#include "src/bitlattice/rules.hpp"

namespace rewise::bitlattice {

// The number D of neighbours with the opposite spin, for 32 sites, encoded for the comparison.
// `few`: D < kDim; `equal`: D = kDim; neither: D > kDim. p0, p1: binary digits of the index of the
// threshold. The index is D, or 2 kDim - D if D > kDim.
template <int kDim>
struct Disagreement {
  std::uint32_t few, equal, p0, p1;

  RW_HD explicit Disagreement(const std::uint32_t* x) {
    p0 = p1 = 0;
    if constexpr (kDim == 1) {
      few = ~(x[0] | x[1]);
      equal = x[0] ^ x[1];
    } else if constexpr (kDim == 2) {
      const std::uint32_t s = x[0] ^ x[1] ^ x[2], c = majority(x[0], x[1], x[2]);
      p0 = s ^ x[3];
      few = ~c & ~(s & x[3]);
      equal = ~few & ~p0 & ~(c & s);  // not D = 4, where c & s & x[3]
    } else if constexpr (kDim == 3) {
      const std::uint32_t s = x[0] ^ x[1] ^ x[2], c = majority(x[0], x[1], x[2]);
      const std::uint32_t t = x[3] ^ x[4] ^ x[5], e = majority(x[3], x[4], x[5]);
      p0 = s ^ t;
      const std::uint32_t b1 = c ^ e ^ (s & t), b2 = majority(c, e, s & t);
      few = ~b2 & ~(p0 & b1);
      equal = ~b2 & p0 & b1;
      p1 = select(b2, ~(p0 | b1), b1);
    } else {
      const std::uint32_t s = x[0] ^ x[1] ^ x[2], c = majority(x[0], x[1], x[2]);
      const std::uint32_t t = x[3] ^ x[4] ^ x[5], e = majority(x[3], x[4], x[5]);
      const std::uint32_t u = x[6] ^ x[7], f = x[6] & x[7];
      p0 = s ^ t ^ u;
      const std::uint32_t g = majority(s, t, u), v = c ^ e ^ f, h = majority(c, e, f);
      const std::uint32_t b1 = v ^ g, b2 = h ^ (v & g), b3 = h & v & g;
      few = ~b2 & ~b3;
      equal = b2 & ~b1 & ~p0;
      p1 = select(b2 & ~equal, b1 ^ p0, b1);
    }
  }
};

// One digit of every site's threshold.
template <int kDim>
RW_HD std::uint32_t threshold_digit(const std::uint32_t* digit, std::uint32_t p0,
                                    std::uint32_t p1) {
  if constexpr (kDim == 1) return digit[0];
  if constexpr (kDim == 2) return select(p0, digit[1], digit[0]);
  if constexpr (kDim == 3) return select(p1, digit[2], select(p0, digit[1], digit[0]));
  return select(p1, select(p0, digit[3], digit[2]), select(p0, digit[1], digit[0]));
}

// The state of one word during the comparison: `below` is final where `open` is 0.
struct Decision {
  std::uint32_t open, below, p0, p1, invert;

  // Compares one more digit: r of the random fraction, t of the threshold.
  RW_HD void compare(std::uint32_t r, std::uint32_t t) {
    below = select(open, t, below);
    open &= ~(r ^ t);
  }
  // Compares four digits.
  template <int kDim>
  RW_HD void compare(const Words4& r, const std::uint32_t (*digit)[kMaxDim]) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (unsigned k = 0; k < 4; ++k) compare(r.w[k], threshold_digit<kDim>(digit[k], p0, p1));
  }
};

// Compares the first digits of word w. The first kZeros digits of all thresholds are 0.
template <int kDim, bool kDownhill, unsigned kZeros>
RW_HD Decision decide_quickly(const Draws& draws, const PhiloxItem& item, unsigned w,
                              const Disagreement<kDim>& d) {
  Words4 r = item.words(draws.update, draws.call[quick_call(w, 0)]);
  Decision out{d.few, ~d.few, d.p0, d.p1, 0};
  if constexpr (!kDownhill) {
    out.open = ~d.equal;
    out.below = d.equal & ~r.w[0];
    out.invert = ~(d.few | d.equal);
  }
  if constexpr (kZeros == 1) out.open &= ~r.w[0];
  if constexpr (kZeros == 2) out.open &= ~(r.w[0] | r.w[1]);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (unsigned k = kZeros; k < 4; ++k) {
    out.compare(r.w[k], threshold_digit<kDim>(draws.digit[k], d.p0, d.p1));
  }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (unsigned n = 1; n < kQuickCalls; ++n) {
    r = item.words(draws.update, draws.call[quick_call(w, n)]);
    out.template compare<kDim>(r, draws.digit + 4 * n);
  }
  return out;
}

// The sites that use the next random words: at each bit, the site of the first word that is waiting
// there. taken: bits at which some word is waiting. before[w]: bits at which a word before w is
// waiting, so that w must wait longer.
struct DigitRound {
  std::uint32_t before[kGroupWords], taken;

  RW_HD explicit DigitRound(const std::uint32_t* wait) {
    taken = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (unsigned w = 0; w < kGroupWords; ++w) {
      before[w] = taken;
      taken |= wait[w];
    }
  }
};

// Compares the four digits of `level` for the sites of one turn (rules.hpp). A site that waits for
// a later turn stays open, and that turn overwrites its `below`.
template <int kDim>
RW_HD void compare_round(const Draws& draws, const PhiloxItem& item, unsigned level, unsigned turn,
                         const std::uint32_t* wait, const DigitRound& now, Decision* decisions) {
  Decision all{now.taken, 0, decisions[kGroupWords - 1].p0, decisions[kGroupWords - 1].p1, 0};
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (unsigned w = kGroupWords - 1; w-- > 0;) {
    all.p0 = select(wait[w], decisions[w].p0, all.p0);
    all.p1 = select(wait[w], decisions[w].p1, all.p1);
  }
  const Words4 r = item.words(draws.update, draws.call[level_call(level, turn)]);
  all.template compare<kDim>(r, draws.digit + kQuickDigits + 4 * level);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (unsigned w = 0; w < kGroupWords; ++w) {
    decisions[w].below = select(wait[w], all.below, decisions[w].below);
    decisions[w].open &= ~wait[w] | now.before[w] | all.open;
  }
}

// Decides the remaining sites, level by level, all words of the group together.
template <int kDim>
RW_HD void decide_rest(const Draws& draws, const PhiloxItem& item, Decision* decisions) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (unsigned level = 0; level < kLevels; ++level) {
    std::uint32_t wait[kGroupWords];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (unsigned w = 0; w < kGroupWords; ++w) wait[w] = decisions[w].open;
    DigitRound now(wait);
    if (now.taken == 0) return;
    compare_round<kDim>(draws, item, level, 0, wait, now, decisions);
    for (unsigned turn = 1;; ++turn) {
      std::uint32_t waiting = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (unsigned w = 0; w < kGroupWords; ++w) {
        wait[w] &= now.before[w];
        waiting |= wait[w];
      }
      if (waiting == 0) break;
      now = DigitRound(wait);
      compare_round<kDim>(draws, item, level, turn, wait, now, decisions);
    }
  }
}

// Sets the bits of the sites of a group that flip. x: [kGroupWords][2 kDim], 1 where a neighbour
// has the opposite spin. kZeros: 0 to 2, at most common_zeros(thresholds); affects only the speed.
template <int kDim, bool kDownhill, unsigned kZeros = 0>
RW_HD void decide_group(const Draws& draws, std::uint32_t item,
                        const std::uint32_t (&x)[kGroupWords][2 * kDim], std::uint32_t* flips) {
  const PhiloxItem shared(draws.update, item);
  Decision decisions[kGroupWords];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (unsigned w = 0; w < kGroupWords; ++w) {
    decisions[w] =
        decide_quickly<kDim, kDownhill, kZeros>(draws, shared, w, Disagreement<kDim>(x[w]));
  }
  decide_rest<kDim>(draws, shared, decisions);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (unsigned w = 0; w < kGroupWords; ++w)
    flips[w] = (decisions[w].below & ~decisions[w].open) ^ decisions[w].invert;
}

}  // namespace rewise::bitlattice

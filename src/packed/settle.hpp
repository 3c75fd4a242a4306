// The decisions about one group of 128 sites of one colour, 32 at a time (rules.hpp): the CUDA
// kernel's inner part, compiled for the host as well so that its twin can be tested there. The
// vectorised CPU form is settle-inl.hpp.
//
// Cost in 2D: nine calls of Philox and 0.6 more on average for 128 sites; per word and digit one
// selection and two operations of comparison.
#pragma once

#include <cstdint>

#include "src/packed/rules.hpp"

namespace rewise::packed {

RW_HD std::uint32_t majority(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return (a & b) | (c & (a | b));
}
RW_HD std::uint32_t select(std::uint32_t mask, std::uint32_t a, std::uint32_t b) {
  return (mask & a) | (~mask & b);
}

// The disagreements D of 32 sites with their 2 kDim neighbours, as the comparison needs them.
// `few`: D < kDim; `equal`: D = kDim; else more. p0, p1: binary digits of the threshold's number,
// which is D, or 2 kDim - D where there are more.
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
      equal = ~few & ~p0 & ~(c & s);  // 4 = c & s & x[3], and then p0 = 0
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

// What is known of one word while it is decided: `below` is right where it is no longer `open`.
struct Decision {
  std::uint32_t open, below, p0, p1, invert;

  // One more digit: r uniform, t the threshold's.
  RW_HD void compare(std::uint32_t r, std::uint32_t t) {
    below = select(open, t, below);
    open &= ~(r ^ t);
  }
};

// The first digits of word w.
template <int kDim, bool kGlauber>
RW_HD Decision decide_quickly(const Draws& draws, const PhiloxItem& item, unsigned w,
                              const Disagreement<kDim>& d) {
  Words4 r = item.words(draws.update, draws.call[quick_call(w, 0)]);
  Decision out{d.few, ~d.few, d.p0, d.p1, 0};
  if constexpr (kGlauber) {
    out.open = ~d.equal;
    out.below = ~r.w[0];
    out.invert = ~(d.few | d.equal);
  }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (unsigned n = 0; n < kQuickCalls; ++n) {
    if (n > 0) r = item.words(draws.update, draws.call[quick_call(w, n)]);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (unsigned k = 0; k < 4; ++k) {
      out.compare(r.w[k], threshold_digit<kDim>(draws.digit[4 * n + k], d.p0, d.p1));
    }
  }
  return out;
}

// The rest, level by level, all words of the group together.
template <int kDim>
RW_HD void decide_rest(const Draws& draws, const PhiloxItem& item, Decision* of) {
  for (unsigned level = 0; level < kLevels; ++level) {
    std::uint32_t wait[kGroupWords], waiting = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (unsigned w = 0; w < kGroupWords; ++w) {
      wait[w] = of[w].open;
      waiting |= wait[w];
    }
    if (waiting == 0) return;
    for (unsigned turn = 0; waiting != 0; ++turn) {
      Decision all{0, 0, 0, 0, 0};
      std::uint32_t mine[kGroupWords];
      waiting = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (unsigned w = 0; w < kGroupWords; ++w) {
        mine[w] = wait[w] & ~all.open;
        wait[w] &= all.open;
        waiting |= wait[w];
        all.open |= mine[w];
        all.p0 |= mine[w] & of[w].p0;
        all.p1 |= mine[w] & of[w].p1;
      }
      const Words4 r = item.words(draws.update, draws.call[level_call(level, turn)]);
      const std::uint32_t(*digit)[kMaxDim] = draws.digit + kQuickDigits + 4 * level;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (unsigned k = 0; k < 4; ++k) {
        all.compare(r.w[k], threshold_digit<kDim>(digit[k], all.p0, all.p1));
      }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (unsigned w = 0; w < kGroupWords; ++w) {
        of[w].below = select(mine[w], all.below, of[w].below);
        of[w].open = select(mine[w], all.open, of[w].open);
      }
    }
  }
}

// The sites of a group that flip. x: [kGroupWords][2 kDim] disagreements with the neighbours.
template <int kDim, bool kGlauber>
RW_HD void settle_group(const Draws& draws, std::uint32_t item,
                        const std::uint32_t (&x)[kGroupWords][2 * kDim], std::uint32_t* flips) {
  const PhiloxItem shared(draws.update, item);
  Decision of[kGroupWords];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (unsigned w = 0; w < kGroupWords; ++w) {
    of[w] = decide_quickly<kDim, kGlauber>(draws, shared, w, Disagreement<kDim>(x[w]));
  }
  decide_rest<kDim>(draws, shared, of);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (unsigned w = 0; w < kGroupWords; ++w) flips[w] = (of[w].below & ~of[w].open) ^ of[w].invert;
}

}  // namespace rewise::packed

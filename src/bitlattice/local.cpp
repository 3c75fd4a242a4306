// Accepts or rejects flips as decide.hpp does, for vectors of words. A block is four vectors, that
// is, Lanes groups of four words. For the first digits a vector holds whole groups, and lane k uses
// the Philox calls of word k % 4 of a group. For the remaining digits the block is regrouped into
// vectors of all first, second, third and fourth words, so that one call serves Lanes groups. A
// vector has one lane or a multiple of four.
#include "src/bitlattice/local.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/bitlattice/local.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "src/random/philox-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::bitlattice {
namespace HWY_NAMESPACE {
using namespace rewise::HWY_NAMESPACE;

constexpr std::size_t kMaxLanes = 16;
constexpr std::size_t kBlock = kGroupWords * kMaxLanes;  // words, at most

// PhiloxItem for a vector of items; `call` may differ between lanes.
struct Items {
  V32 item_lo, c1, third_hi, third_lo;

  HWY_INLINE Items(const PhiloxUpdate& u, V32 item) {
    const D32 d;
    V32 hi;
    multiply(item, hn::Set(d, kPhiloxM0), hi, item_lo);
    multiply(hn::Xor(hi, hn::Set(d, u.second_c2)), hn::Set(d, kPhiloxM1), hi, c1);
    multiply(hn::Xor(hi, hn::Set(d, u.third_c0)), hn::Set(d, kPhiloxM0), third_hi, third_lo);
    third_hi = hn::Xor(third_hi, hn::Set(d, u.key1[2]));
  }

  HWY_INLINE Vec4 words(const PhiloxUpdate& u, V32 call_hi, V32 call_lo) const {
    const D32 d;
    V32 hi, lo;
    multiply(hn::Xor(item_lo, call_hi), hn::Set(d, kPhiloxM1), hi, lo);
    Vec4 c;
    c.w0 = xor3(hi, c1, hn::Set(d, u.key0[2]));
    c.w1 = lo;
    c.w2 = hn::Xor(third_hi, call_lo);
    c.w3 = third_lo;
    for (int round = 3; round < kPhiloxRounds; ++round) {
      philox_round(c, u.key0[round], u.key1[round]);
    }
    return c;
  }
};

// The Philox calls of the first digits, in the order of the lanes of a vector: [n][word].
struct QuickCalls {
  alignas(16) std::uint32_t hi[kQuickCalls][kGroupWords], lo[kQuickCalls][kGroupWords];

  explicit QuickCalls(const Draws& draws) {
    for (unsigned n = 0; n < kQuickCalls; ++n) {
      for (unsigned w = 0; w < kGroupWords; ++w) {
        hi[n][w] = draws.call[quick_call(w, n)].hi;
        lo[n][w] = draws.call[quick_call(w, n)].lo;
      }
    }
  }
};

// decide.hpp: Disagreement.
template <int kDim>
struct Disagreement {
  V32 few, equal, p0, p1;

  HWY_INLINE explicit Disagreement(const V32* x) {
    const BitCount<2 * kDim> n(x);
    p0 = n.p0;
    p1 = zero();
    if constexpr (kDim == 1) {
      few = invert(hn::Or(n.p0, n.p1));
      equal = n.p0;
    } else if constexpr (kDim == 2) {
      few = invert(hn::Or(n.p1, n.p2));
      equal = hn::AndNot(n.p0, n.p1);
    } else if constexpr (kDim == 3) {
      const V32 both = hn::And(n.p0, n.p1);
      few = hn::AndNot(n.p2, invert(both));
      equal = hn::AndNot(n.p2, both);
      p1 = select(n.p2, invert(hn::Or(n.p0, n.p1)), n.p1);
    } else {
      few = invert(hn::Or(n.p2, n.p3));
      equal = hn::AndNot(hn::Or(n.p1, n.p0), n.p2);
      p1 = select(hn::AndNot(equal, n.p2), hn::Xor(n.p1, n.p0), n.p1);
    }
  }
};

template <int kDim>
HWY_INLINE V32 threshold_digit(const std::uint32_t* digit, V32 p0, V32 p1) {
  const D32 d;
  if constexpr (kDim == 1) return hn::Set(d, digit[0]);
  const V32 low = kDim < 2 ? zero() : select(p0, hn::Set(d, digit[1]), hn::Set(d, digit[0]));
  if constexpr (kDim == 2) return low;
  if constexpr (kDim == 3) return select(p1, hn::Set(d, digit[2]), low);
  return select(p1, select(p0, hn::Set(d, digit[3]), hn::Set(d, digit[2])), low);
}

template <int kDim>
HWY_INLINE void compare(const std::uint32_t (*digit)[kMaxDim], const Vec4& words, V32 p0, V32 p1,
                        V32& open, V32& below) {
  const V32 r[4] = {words.w0, words.w1, words.w2, words.w3};
  HWY_UNROLL(4)
  for (unsigned k = 0; k < 4; ++k) {
    const V32 t = threshold_digit<kDim>(digit[k], p0, p1);
    below = select(open, t, below);
    open = and_equal(open, r[k], t);
  }
}

// A block's words during the comparison.
struct BlockState {
  HWY_ALIGN std::uint32_t open[kBlock], below[kBlock], p0[kBlock], p1[kBlock], invert[kBlock];
};

struct GroupVectors {
  V32 w[kGroupWords];

  HWY_INLINE void load(const std::uint32_t* from) {
    hn::LoadInterleaved4(D32(), from, w[0], w[1], w[2], w[3]);
  }
  HWY_INLINE void store(std::uint32_t* to) const {
    hn::StoreInterleaved4(w[0], w[1], w[2], w[3], D32(), to);
  }
};

// decide.hpp: decide_rest, of Lanes groups.
template <int kDim>
HWY_INLINE void decide_rest(const Draws& draws, V32 item, BlockState& state) {
  const D32 d;
  const Items items(draws.update, item);
  GroupVectors open, below, p0, p1;
  open.load(state.open);
  below.load(state.below);
  p0.load(state.p0);
  p1 = p0;
  if constexpr (kDim > 2) p1.load(state.p1);
  for (unsigned level = 0; level < kLevels; ++level) {
    GroupVectors wait = open;
    V32 waiting = hn::Or(hn::Or(wait.w[0], wait.w[1]), hn::Or(wait.w[2], wait.w[3]));
    if (all_zero(waiting)) break;
    for (unsigned turn = 0; !all_zero(waiting); ++turn) {
      V32 taken = zero(), own0 = zero(), own1 = zero(), mine[kGroupWords];
      waiting = zero();
      HWY_UNROLL(4)
      for (unsigned w = 0; w < kGroupWords; ++w) {
        mine[w] = hn::AndNot(taken, wait.w[w]);
        wait.w[w] = hn::And(wait.w[w], taken);
        waiting = hn::Or(waiting, wait.w[w]);
        taken = hn::Or(taken, mine[w]);
        own0 = hn::Or(own0, hn::And(mine[w], p0.w[w]));
        if constexpr (kDim > 2) own1 = hn::Or(own1, hn::And(mine[w], p1.w[w]));
      }
      const PhiloxCall& call = draws.call[level_call(level, turn)];
      const Vec4 r = items.words(draws.update, hn::Set(d, call.hi), hn::Set(d, call.lo));
      V32 fresh = zero();
      compare<kDim>(draws.digit + kQuickDigits + 4 * level, r, own0, own1, taken, fresh);
      HWY_UNROLL(4)
      for (unsigned w = 0; w < kGroupWords; ++w) {
        below.w[w] = select(mine[w], fresh, below.w[w]);
        open.w[w] = select(mine[w], taken, open.w[w]);
      }
    }
  }
  open.store(state.open);
  below.store(state.below);
}

// Updates the words `own` of a block. neighbour: [2 kDim], as many words as `own` each. Only bits
// in `sites` change. item: the Philox item of the first group.
template <int kDim, bool kDownhill>
HWY_INLINE void decide_block(const Draws& draws, const QuickCalls& calls, std::uint32_t item,
                             std::uint32_t* own, const std::uint32_t* const* neighbour,
                             const std::uint32_t* sites) {
  const D32 d;
  const std::size_t lanes = hn::Lanes(d);
  BlockState state;
  V32 any = zero();
  const V32 step = hn::Set(d, 2), lane = hn::Iota(d, 0);
  const V32 group = hn::ShiftRight<2>(lane);
  for (std::size_t v = 0; v < kGroupWords; ++v) {
    const std::size_t at = v * lanes;
    const V32 before = hn::LoadU(d, own + at);
    V32 x[2 * kDim];
    for (std::size_t k = 0; k < 2 * kDim; ++k) {
      x[k] = hn::Xor(before, hn::LoadU(d, neighbour[k] + at));
    }
    const Disagreement<kDim> found(x);
    const auto first = item + static_cast<std::uint32_t>(2 * (at / kGroupWords));
    const Items items(draws.update, hn::Add(hn::Set(d, first), hn::Mul(step, group)));
    V32 open = kDownhill ? found.few : invert(found.equal), below = invert(found.few);
    for (unsigned n = 0; n < kQuickCalls; ++n) {
      const Vec4 r = items.words(draws.update, hn::LoadDup128(d, calls.hi[n] + at % kGroupWords),
                                 hn::LoadDup128(d, calls.lo[n] + at % kGroupWords));
      if (!kDownhill && n == 0) below = invert(r.w0);
      compare<kDim>(draws.digit + 4 * n, r, found.p0, found.p1, open, below);
    }
    any = hn::Or(any, open);
    hn::Store(open, d, state.open + at);
    hn::Store(below, d, state.below + at);
    hn::Store(found.p0, d, state.p0 + at);
    if constexpr (kDim > 2) hn::Store(found.p1, d, state.p1 + at);
    if constexpr (!kDownhill) {
      hn::Store(invert(hn::Or(found.few, found.equal)), d, state.invert + at);
    }
  }
  if (!all_zero(any)) {
    decide_rest<kDim>(draws, hn::Add(hn::Set(d, item), hn::Mul(step, lane)), state);
  }
  for (std::size_t at = 0; at < kGroupWords * lanes; at += lanes) {
    V32 flips = hn::AndNot(hn::Load(d, state.open + at), hn::Load(d, state.below + at));
    if constexpr (!kDownhill) flips = hn::Xor(flips, hn::Load(d, state.invert + at));
    flips = hn::And(flips, hn::LoadU(d, sites + at));
    hn::StoreU(hn::Xor(hn::LoadU(d, own + at), flips), d, own + at);
  }
}

template <int kDim, bool kDownhill>
void update_words(const Draws& draws, int colour, const Strip& strip) {
  const auto block = static_cast<std::uint32_t>(kGroupWords * hn::Lanes(D32()));
  const QuickCalls calls(draws);
  for (std::uint32_t n = 0; n < strip.pieces; ++n) {
    const Piece& piece = strip.piece[n];
    for (std::uint32_t at = 0; at < piece.words; at += block) {
      const std::uint32_t* neighbour[2 * kDim];
      for (std::size_t k = 0; k < 2 * kDim; ++k) neighbour[k] = piece.neighbour[k] + at;
      const std::uint32_t group =
          strip.first_group + static_cast<std::uint32_t>((piece.first + at) / kGroupWords);
      decide_block<kDim, kDownhill>(draws, calls, item_of(group, colour), piece.own + at, neighbour,
                                    piece.sites + at);
    }
  }
}

void UpdateStrip(int dim, const Draws& draws, LocalUpdate rule, int colour, const Strip& strip) {
  with_lattice_dim(dim, [&]<int kDim>() {
    if (certain_downhill(rule)) {
      update_words<kDim, true>(draws, colour, strip);
    } else {
      update_words<kDim, false>(draws, colour, strip);
    }
  });
}

std::uint64_t CountBits(const std::uint32_t* words, std::uint32_t count) {
  const D32 d;
  const auto lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  std::uint64_t bits = 0;
  V32 sum = zero();
  std::uint32_t at = 0;
  for (; at + lanes <= count; at += lanes) {
    sum = hn::Add(sum, hn::PopulationCount(hn::LoadU(d, words + at)));
  }
  for (; at < count; ++at) bits += static_cast<std::uint64_t>(__builtin_popcount(words[at]));
  HWY_ALIGN std::uint32_t parts[kMaxLanes];
  hn::Store(sum, d, parts);
  for (std::uint32_t k = 0; k < lanes; ++k) bits += parts[k];
  return bits;
}

std::uint64_t CountUnequal(int dim, const Strip& strip) {
  std::uint64_t unequal = 0;
  HWY_ALIGN std::uint32_t differ[kStripWords];
  for (std::uint32_t n = 0; n < strip.pieces; ++n) {
    const Piece& piece = strip.piece[n];
    for (int k = 0; k < 2 * dim; ++k) {
      for (std::uint32_t j = 0; j < piece.words; ++j) {
        differ[j] = (piece.own[j] ^ piece.neighbour[k][j]) & piece.sites[j];
      }
      unequal += CountBits(differ, piece.words);
    }
  }
  return unequal;
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise::bitlattice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise::bitlattice {
HWY_EXPORT(UpdateStrip);
HWY_EXPORT(CountBits);
HWY_EXPORT(CountUnequal);

void start_strip(const Layout& layout, const ReplicaRules& rules, std::size_t replica, int colour,
                 Words words, std::uint32_t* spins) {
  std::uint32_t* own = spins + (colour == 0 ? 0 : layout.colour_words());
  auto j = static_cast<std::uint32_t>(words.first % layout.stride());
  for (std::uint64_t at = words.first; at < words.last; at += kGroupWords) {
    Words4 random{{~0u, ~0u, ~0u, ~0u}};
    if (rules.hot(replica)) {
      const std::uint32_t group = layout.first_group + static_cast<std::uint32_t>(at / kGroupWords);
      random = random_words(rules.spec().seed, Stream::bitlattice_start, item_of(group, colour),
                            static_cast<std::uint32_t>(replica), 0, 0);
    }
    for (std::uint32_t w = 0; w < kGroupWords; ++w) {
      own[at + w] = random.w[w] & layout.site_bits(j + w);
    }
    j += kGroupWords;
    if (j == layout.stride()) j = 0;
  }
}

void update_strip(const Layout& layout, const Draws& draws, LocalUpdate rule, int colour,
                  Words words, std::uint32_t* spins) {
  Strip strip;
  load_strip(layout, spins, colour, words, strip);
  HWY_DYNAMIC_DISPATCH(UpdateStrip)(layout.dim, draws, rule, colour, strip);
  store_strip(layout, strip, colour, spins);
}

Counts count_strip(const Layout& layout, Words range, std::uint32_t* spins) {
  Strip strip;
  load_strip(layout, spins, 0, range, strip);
  Counts counts;
  counts.unequal = HWY_DYNAMIC_DISPATCH(CountUnequal)(layout.dim, strip);
  for (std::uint32_t n = 0; n < strip.pieces; ++n) {
    const Piece& piece = strip.piece[n];
    const std::uint32_t* words = spins + piece.first;
    counts.up += HWY_DYNAMIC_DISPATCH(CountBits)(words, piece.words) +
                 HWY_DYNAMIC_DISPATCH(CountBits)(words + layout.colour_words(), piece.words);
  }
  return counts;
}

}  // namespace rewise::bitlattice
#endif

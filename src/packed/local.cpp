#include "src/packed/local.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/packed/local.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "src/packed/settle-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::packed {
namespace HWY_NAMESPACE {

template <int kDim, bool kGlauber>
void update_words(const Draws& draws, int colour, const Strip& strip) {
  const auto block = static_cast<std::uint32_t>(kGroupWords * hn::Lanes(D32()));
  const QuickCalls calls(draws);
  for (std::uint32_t n = 0; n < strip.pieces; ++n) {
    const Piece& piece = strip.piece[n];
    for (std::uint32_t at = 0; at < piece.words; at += block) {
      const std::uint32_t* neighbour[2 * kDim];
      for (std::size_t k = 0; k < 2 * kDim; ++k) neighbour[k] = piece.neighbour[k] + at;
      const auto group = static_cast<std::uint32_t>((piece.first + at) / kGroupWords);
      settle_block<kDim, kGlauber>(draws, calls, item_of(group, colour), piece.own + at, neighbour,
                                   piece.sites + at);
    }
  }
}

template <bool kGlauber>
void update_dim(int dim, const Draws& draws, int colour, const Strip& strip) {
  switch (dim) {
    case 1:
      return update_words<1, kGlauber>(draws, colour, strip);
    case 2:
      return update_words<2, kGlauber>(draws, colour, strip);
    case 3:
      return update_words<3, kGlauber>(draws, colour, strip);
    default:
      return update_words<4, kGlauber>(draws, colour, strip);
  }
}

void UpdateStrip(int dim, const Draws& draws, bool glauber, int colour, const Strip& strip) {
  if (glauber) {
    update_dim<true>(dim, draws, colour, strip);
  } else {
    update_dim<false>(dim, draws, colour, strip);
  }
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
  HWY_ALIGN std::uint32_t parts[kMostLanes];
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
}  // namespace rewise::packed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise::packed {
HWY_EXPORT(UpdateStrip);
HWY_EXPORT(CountBits);
HWY_EXPORT(CountUnequal);

void update_strip(const Layout& layout, const Draws& draws, bool glauber, int colour,
                  std::uint64_t which, std::uint32_t* spins) {
  Strip strip;
  load_strip(layout, spins, colour, which, strip);
  HWY_DYNAMIC_DISPATCH(UpdateStrip)(layout.dim, draws, glauber, colour, strip);
  store_strip(layout, strip, colour, spins);
}

Counts count_strip(const Layout& layout, std::uint64_t which, std::uint32_t* spins) {
  Strip strip;
  load_strip(layout, spins, 0, which, strip);
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

}  // namespace rewise::packed
#endif

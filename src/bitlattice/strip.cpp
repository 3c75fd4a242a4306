#include "src/bitlattice/strip.hpp"

#include <algorithm>
#include <array>

namespace rewise::bitlattice {
namespace {

// Shifted x-neighbours of words [first, last) of a row; `row` are the other colour's words.
void shift_row(const Layout& layout, bool odd, const std::uint32_t* row, std::uint32_t first,
               std::uint32_t last, std::uint32_t* out) {
  const std::uint32_t end = (layout.half - 1) / 32, bit = (layout.half - 1) % 32;
  if (odd) {
    const std::uint32_t inner = std::min(last, layout.stride() - 1);
    for (std::uint32_t j = first; j < inner; ++j)
      out[j - first] = shifted(true, row[j], row[j + 1]);
    if (inner < last) out[inner - first] = row[inner] >> 1;
    if (end >= first && end < last) out[end - first] |= (row[0] & 1u) << bit;
    return;
  }
  if (first == 0) out[0] = row[0] << 1 | (row[end] >> bit & 1u);
  for (std::uint32_t j = std::max(first, 1u); j < last; ++j) {
    out[j - first] = shifted(false, row[j], row[j - 1]);
  }
}

constexpr std::array<std::uint32_t, kStripWords> all_sites() {
  std::array<std::uint32_t, kStripWords> words{};
  words.fill(~0u);
  return words;
}
alignas(64) constexpr auto kAllSites = all_sites();

// Words [begin, end) of a row, which are the words of the strip from `at` on.
struct Segment {
  std::uint32_t row, begin, end, at;
};

template <class F>
void for_segments(const Layout& layout, std::uint64_t first, std::uint32_t words, const F& f) {
  const std::uint32_t stride = layout.stride();
  Segment s{static_cast<std::uint32_t>(first / stride), static_cast<std::uint32_t>(first % stride),
            0, 0};
  for (; s.at < words; s.at += s.end - s.begin, s.begin = 0, ++s.row) {
    s.end = std::min(stride, s.begin + words - s.at);
    f(s);
  }
}

template <int kDim>
void load_strip_dim(const Layout& layout, std::uint32_t* spins, int colour, Words range,
                    Strip& strip) {
  const std::uint64_t all = layout.colour_words(), first = range.first;
  const auto words = static_cast<std::uint32_t>(range.last - first);
  const std::uint32_t stride = layout.stride();
  std::uint32_t* own = spins + (colour == 0 ? 0 : all);
  const std::uint32_t* other = spins + (colour == 0 ? all : 0);
  strip.copied = stride % kPieceWords != 0 || layout.half != 32 * stride;
  strip.pieces = 0;
  strip.first_group = layout.first_group;
  for_segments(layout, first, words, [&](const Segment& s) {
    const RowPlace place = layout.row_place<kDim>(s.row);
    const std::uint32_t* rows[2 * kDim];  // of the neighbours at the same word index
    rows[0] = other + std::uint64_t{s.row} * stride;
    for (int k = 0; k < 2 * (kDim - 1); ++k) {
      rows[2 + k] = other + std::uint64_t{place.beside[k]} * stride;
    }
    shift_row(layout, odd_sites(colour, place.odd_row != layout.first_odd), rows[0], s.begin, s.end,
              strip.neighbour[1] + s.at);
    if (!strip.copied) {
      Piece& piece = strip.piece[strip.pieces++];
      piece.first = first + s.at;
      piece.words = s.end - s.begin;
      piece.own = own + piece.first;
      for (int k = 0; k < 2 * kDim; ++k) {
        piece.neighbour[k] = k == 1 ? strip.neighbour[1] + s.at : rows[k] + s.begin;
      }
      piece.sites = kAllSites.data();
      return;
    }
    for (int k = 0; k < 2 * kDim; ++k) {
      if (k != 1) std::copy(rows[k] + s.begin, rows[k] + s.end, strip.neighbour[k] + s.at);
    }
    for (std::uint32_t j = s.begin; j < s.end; ++j) {
      strip.sites[s.at + j - s.begin] = layout.site_bits(j);
    }
  });
  if (!strip.copied) return;
  strip.pieces = 1;
  strip.piece[0] = {first, words, strip.own, {}, strip.sites};
  std::copy_n(own + first, words, strip.own);
  std::fill(strip.own + words, strip.own + kStripWords, 0u);
  std::fill(strip.sites + words, strip.sites + kStripWords, 0u);
  for (int k = 0; k < 2 * kDim; ++k) {
    strip.piece[0].neighbour[k] = strip.neighbour[k];
    std::fill(strip.neighbour[k] + words, strip.neighbour[k] + kStripWords, 0u);
  }
}

}  // namespace

void load_strip(const Layout& layout, std::uint32_t* spins, int colour, Words words, Strip& strip) {
  with_lattice_dim(layout.dim,
                   [&]<int kDim>() { load_strip_dim<kDim>(layout, spins, colour, words, strip); });
}

void store_strip(const Layout& layout, const Strip& strip, int colour, std::uint32_t* spins) {
  if (!strip.copied) return;
  const Piece& piece = strip.piece[0];
  std::copy_n(piece.own, piece.words,
              spins + (colour == 0 ? 0 : layout.colour_words()) + piece.first);
}

}  // namespace rewise::bitlattice

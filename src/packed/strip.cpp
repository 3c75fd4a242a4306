#include "src/packed/strip.hpp"

#include <algorithm>

namespace rewise::packed {
namespace {

// Words [first, last) of a row's x-neighbours in the other place; `row` are the other colour's.
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

template <int kDim>
void load_strip_dim(const Layout& layout, const std::uint32_t* spins, int colour,
                    std::uint64_t which, Strip& strip) {
  const std::uint64_t words = layout.colour_words();
  const std::uint32_t* own = spins + (colour == 0 ? 0 : words);
  const std::uint32_t* other = spins + (colour == 0 ? words : 0);
  strip.first = which * kStripWords;
  strip.words =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(kStripWords, words - strip.first));
  std::copy_n(own + strip.first, strip.words, strip.own);
  const std::uint32_t stride = layout.stride();
  auto row = static_cast<std::uint32_t>(strip.first / stride);
  auto begin = static_cast<std::uint32_t>(strip.first % stride);
  for (std::uint32_t at = 0; at < strip.words; ++row, begin = 0) {
    const std::uint32_t end = std::min(stride, begin + strip.words - at);
    const RowPlace place = layout.row_place<kDim>(row);
    const std::uint32_t* beside = other + std::uint64_t{row} * stride;
    std::copy(beside + begin, beside + end, strip.neighbour[0] + at);
    shift_row(layout, odd_sites(colour, place.odd_row), beside, begin, end,
              strip.neighbour[1] + at);
    for (int k = 0; k < 2 * (kDim - 1); ++k) {
      const std::uint32_t* far = other + std::uint64_t{place.beside[k]} * stride;
      std::copy(far + begin, far + end, strip.neighbour[2 + k] + at);
    }
    for (std::uint32_t j = begin; j < end; ++j) strip.sites[at + j - begin] = layout.site_bits(j);
    at += end - begin;
  }
}

}  // namespace

void load_strip(const Layout& layout, const std::uint32_t* spins, int colour, std::uint64_t which,
                Strip& strip) {
  switch (layout.dim) {
    case 1:
      return load_strip_dim<1>(layout, spins, colour, which, strip);
    case 2:
      return load_strip_dim<2>(layout, spins, colour, which, strip);
    case 3:
      return load_strip_dim<3>(layout, spins, colour, which, strip);
    default:
      return load_strip_dim<4>(layout, spins, colour, which, strip);
  }
}

}  // namespace rewise::packed

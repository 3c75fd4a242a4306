// The memory layout of the bitlattice engine: one bit per site, 1 = up; the two colours are stored
// separately.
//
// A row is a line of sites along x. Site x of a row belongs to the colour (x + parity of the row)
// mod 2 and is bit x / 2 of that colour's part of the row: 32 sites of one colour per word, 4 words
// per group, rows padded to whole groups with zeros. The neighbours of a word along other
// directions are the same word of neighbouring rows. Its neighbours along x are the same word of
// the other colour, and that word shifted by one site: forward if the sites of the word have odd x,
// backward if even. A colour's words are [rows][stride]; a replica is colour 0, then colour 1.
//
// A slab consists of consecutive planes of the slowest extent and its halo: copies of the planes
// before and after it. It is laid out as a lattice of all these planes; only the addresses of its
// random numbers and the parity of its rows have offsets. All neighbours of its inner rows lie
// within it, so code that updates only inner rows needs no special case at the ends.
//
// Trivially copyable, so that it can be passed to kernels by value. It has no 32-bit site numbers:
// replicas of more than 2^32 sites fit.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graphs/lattice.hpp"
#include "src/base/hd.hpp"

namespace rewise::bitlattice {

inline constexpr std::uint32_t kGroupWords = 4;
inline constexpr std::uint32_t kGroupSites = 32 * kGroupWords;  // of one colour
inline constexpr int kMaxRows = 2 * (kMaxDim - 1);              // neighbouring rows of a row

// The neighbouring rows of a row, two per direction but x, and which sites of a colour it holds.
struct RowPlace {
  std::uint32_t beside[kMaxRows];
  bool odd_row;  // parity of its coordinates except x, relative to the layout's first row
};

// A range of whole rows of a colour, at least one: words [first, last), rows [first, last).
struct Words {
  std::uint64_t first, last;
};
struct Rows {
  std::uint32_t first, last;
};

struct Layout {
  int dim = 0;
  std::uint32_t extent[kMaxDim]{1, 1, 1, 1};
  std::uint32_t half = 0;    // sites of one colour in a row
  std::uint32_t groups = 0;  // of a row
  std::uint32_t rows = 0;
  // A slab: the number of its first group in the lattice (modulo 2^32: the plane before the first
  // counts backwards), and whether its first row has odd coordinates, which inverts the parities
  // below.
  std::uint32_t first_group = 0;
  bool first_odd = false;

  // Throws Error(usage) naming an extent that is odd, below 4 or too large (2^32 rows, 2^31
  // groups).
  static Layout make(const std::vector<std::uint32_t>& extents);

  // Planes [begin, end) of the slowest of two or more extents, and their halo.
  Layout slab(std::uint32_t begin, std::uint32_t end) const;
  std::uint32_t planes() const { return dim > 1 ? extent[dim - 1] : 1; }
  std::uint32_t plane_rows() const { return rows / planes(); }
  std::uint64_t plane_words() const { return std::uint64_t{plane_rows()} * stride(); }

  RW_HD std::uint32_t stride() const { return kGroupWords * groups; }  // words of a row
  RW_HD std::uint64_t colour_words() const { return std::uint64_t{rows} * stride(); }
  // Of a replica.
  std::uint64_t words() const { return 2 * colour_words(); }
  std::uint64_t bytes() const { return 4 * words(); }
  std::uint64_t sites() const { return std::uint64_t{rows} * extent[0]; }
  std::uint64_t bonds() const { return sites() * static_cast<unsigned>(dim); }
  Rows all_rows() const { return {0, rows}; }
  bool padded() const { return half % kGroupSites != 0; }

  // Parity of a row's coordinates except x.
  bool odd_row(std::uint32_t row) const {
    std::uint32_t sum = 0;
    for (int k = 1; k < dim; ++k) {
      sum += row % extent[k];
      row /= extent[k];
    }
    return sum % 2 != 0;
  }
  // The bits of word j of a row that are sites.
  RW_HD std::uint32_t site_bits(std::uint32_t j) const {
    const std::uint32_t first = 32 * j;
    if (first + 32 <= half) return ~0u;
    return first >= half ? 0u : (1u << (half - first)) - 1u;
  }

  template <int kDim>
  RW_HD RowPlace row_place(std::uint32_t row) const {
    RowPlace place{};
    std::uint32_t stride = 1, rest = row, sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int k = 1; k < kDim; ++k) {
      const std::uint32_t length = extent[k];
      std::uint32_t c = rest;
      if (k + 1 < kDim) {
        rest /= length;
        c -= rest * length;
      }
      sum += c;
      place.beside[2 * (k - 1)] = c + 1 == length ? row - c * stride : row + stride;
      place.beside[2 * (k - 1) + 1] = c == 0 ? row + (length - 1) * stride : row - stride;
      stride *= length;
    }
    place.odd_row = (sum & 1u) != 0;
    return place;
  }
};

// Whether the sites of a colour in this row have odd x.
RW_HD bool odd_sites(int colour, bool odd_row) { return (colour != 0) != odd_row; }

// Returns the shifted x-neighbours of word w, computed from the other colour's words of the row:
// from word w and the next (sites with odd x) or the previous one (even x).
RW_HD std::uint32_t shifted(bool odd, std::uint32_t word, std::uint32_t beside) {
  return odd ? word >> 1 | beside << 31 : word << 1 | beside >> 31;
}

}  // namespace rewise::bitlattice

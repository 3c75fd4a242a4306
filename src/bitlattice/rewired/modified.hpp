// The modified cells of a rewired lattice, apart from the others: words of 32 sites cannot hold
// neighbours that lie anywhere. An update decides every word as on the regular lattice and leaves
// the bits of modified cells as they are; these follow one by one (rules.hpp says what they draw).
// Both read the other colour and write their own, so that their order does not matter.
//
// A place is a bit of a system's words, 32 word + bit, in 32 bits. Of a cell's lattice neighbours a
// bit each says whether they still are; only the others are listed.
//
// Cost of a modified cell: 9 bytes of lists and 4 for each neighbour that is not of the lattice,
// the bits of its neighbours, a quarter of a call of Philox.
#pragma once

#include <cstdint>

#include "src/bitlattice/rules.hpp"

namespace rewise::bitlattice {

RW_HD std::uint32_t bit_at(const std::uint32_t* spins, std::uint32_t place) {
  return spins[place / 32] >> place % 32 & 1u;
}

// The places of a cell's 2 kDim neighbours on the regular lattice: along x the one of the same
// place in the other colour's row and the one beside it, then ahead and back in every other
// direction.
template <int kDim>
RW_HD void near_places(const Layout& g, std::uint32_t place, std::uint32_t (&near)[2 * kDim]) {
  const std::uint32_t bits = 32 * g.stride(),
                      all = g.rows * g.stride();  // of a row; a colour's words
  const bool second = place / 32 >= all;
  const std::uint32_t word = place / 32 - (second ? all : 0), row = word / g.stride();
  const std::uint32_t h = 32 * (word - row * g.stride()) + place % 32;
  const RowPlace beside = g.row_place<kDim>(row);
  const std::uint32_t other = second ? 0 : 32 * all;
  const bool odd = odd_sites(second ? 1 : 0, beside.odd_row);
  near[0] = other + row * bits + h;
  near[1] = near[0] + (odd ? (h + 1 == g.half ? 1 - g.half : 1) : (h == 0 ? g.half - 1 : ~0u));
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int k = 2; k < 2 * kDim; ++k) near[k] = other + beside.beside[k - 2] * bits + h;
}

// Those of one colour, in the order of their places, wherever the lists lie.
struct ModifiedCells {
  const std::uint32_t* place;  // [count]
  const std::uint8_t* near;    // [count] which of near_places() are neighbours, a bit each
  const std::uint32_t* first;  // [count + 1] of the others
  const std::uint32_t* far;    // their places
  std::uint32_t count;
};

// The neighbours of a cell, and how many of them are up.
struct Neighbours {
  std::uint32_t degree = 0, up = 0;

  RW_HD std::uint32_t unequal(std::uint32_t own) const { return own != 0 ? degree - up : up; }
};

// One sweep of the modified cells of one colour of a system.
struct ModifiedUpdate {
  const Threshold* flip;  // of s h = 0, those of other fields around it
  std::uint64_t seed;
  std::uint32_t who, step;
  int colour;

  // What four cells draw, of which `cell` is one.
  RW_HD Words4 words(std::uint32_t cell) const {
    return random_words(seed, Stream::bitlattice_modified, item_of(cell / 4, colour), who, 0, step);
  }
  // Whether a cell flips that drew `word`.
  RW_HD bool flips(const Neighbours& around, std::uint32_t own, std::uint32_t word) const {
    const auto degree = static_cast<std::int32_t>(around.degree);
    return happens(word, flip[degree - 2 * static_cast<std::int32_t>(around.unequal(own))]);
  }
};

// On the CPU, pieces of a colour's cells in any order or at once: no two write the same word.
std::uint64_t pieces(const ModifiedCells& cells);
void update_piece(const Layout& layout, const ModifiedCells& cells, std::uint64_t piece,
                  const ModifiedUpdate& update, std::uint32_t* spins);
// Bonds of a piece's cells between unequal spins.
std::uint64_t unequal_in_piece(const Layout& layout, const ModifiedCells& cells,
                               std::uint64_t piece, const std::uint32_t* spins);

}  // namespace rewise::bitlattice

// The modified cells of a rewired lattice, apart from the others: words of 32 sites cannot hold
// neighbours that lie anywhere. An update decides every word as on the regular lattice and leaves
// the bits of modified cells as they are; these follow one by one, from lists of their neighbours
// (rules.hpp says what they draw). Both read the other colour and write their own, so that their
// order does not matter.
//
// A place is a bit of a system's words, 32 word + bit, in 32 bits.
//
// Cost of a modified cell of degree 4: 24 bytes of lists, four bits that may lie anywhere, a
// quarter of a call of Philox.
#pragma once

#include <cstdint>

#include "src/packed/rules.hpp"

namespace rewise::packed {

RW_HD std::uint32_t bit_at(const std::uint32_t* spins, std::uint32_t place) {
  return spins[place / 32] >> place % 32 & 1u;
}

// Those of one colour, in the order of their places, wherever the lists lie.
struct ModifiedCells {
  const std::uint32_t* place;   // [count]
  const std::uint32_t* first;   // [count + 1] of their neighbours
  const std::uint32_t* beside;  // places
  std::uint32_t count;

  RW_HD std::uint32_t degree(std::uint32_t cell) const { return first[cell + 1] - first[cell]; }
  // Neighbours unlike the cell.
  RW_HD std::uint32_t unequal(const std::uint32_t* spins, std::uint32_t cell) const {
    const std::uint32_t end = first[cell + 1];
    std::uint32_t up = 0;
    for (std::uint32_t k = first[cell]; k < end; ++k) up += bit_at(spins, beside[k]);
    return bit_at(spins, place[cell]) != 0 ? end - first[cell] - up : up;
  }
};

// One sweep of the modified cells of one colour of a system.
struct ModifiedUpdate {
  const Threshold* flip;  // of s h = 0, those of other fields around it
  std::uint64_t seed;
  std::uint32_t who, step;
  int colour;

  // What four cells draw, of which `cell` is one.
  RW_HD Words4 words(std::uint32_t cell) const {
    return random_words(seed, Stream::packed_modified, item_of(cell / 4, colour), who, 0, step);
  }
  // Whether a cell flips that drew `word`.
  RW_HD bool flips(const ModifiedCells& cells, const std::uint32_t* spins, std::uint32_t cell,
                   std::uint32_t word) const {
    const auto degree = static_cast<std::int32_t>(cells.degree(cell));
    const auto unequal = static_cast<std::int32_t>(cells.unequal(spins, cell));
    return happens(word, flip[degree - 2 * unequal]);
  }
};

// On the CPU, pieces of a colour's cells in any order or at once: no two write the same word.
std::uint64_t pieces(const ModifiedCells& cells);
void update_piece(const ModifiedCells& cells, std::uint64_t piece, const ModifiedUpdate& update,
                  std::uint32_t* spins);
// Bonds of a piece's cells between unequal spins.
std::uint64_t unequal_in_piece(const ModifiedCells& cells, std::uint64_t piece,
                               const std::uint32_t* spins);

}  // namespace rewise::packed

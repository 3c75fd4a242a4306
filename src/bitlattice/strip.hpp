// The CPU updates one strip of a colour after the other: at most 256 consecutive words, which may
// belong to several rows. If rows have a multiple of 64 words, they are read and written in place.
// Otherwise the words and their neighbours are copied to contiguous buffers. The same vector code
// therefore processes rows of any length.
#pragma once

#include <cstdint>

#include "src/bitlattice/rules.hpp"

namespace rewise::bitlattice {

inline constexpr std::uint32_t kStripWords = 256;

inline std::uint64_t strips(Words words) {
  return (words.last - words.first + kStripWords - 1) / kStripWords;
}
inline Words strip_of(Words words, std::uint64_t which) {
  const std::uint64_t first = words.first + which * kStripWords;
  return {first, first + kStripWords < words.last ? first + kStripWords : words.last};
}

inline constexpr std::uint32_t kPieceWords = 64;  // four of the widest vectors

// A piece of a strip: words whose neighbours are consecutive, too.
struct Piece {
  std::uint64_t first;  // word of the colour
  std::uint32_t words;  // a multiple of kGroupWords; readable up to a multiple of kPieceWords
  std::uint32_t* own;
  const std::uint32_t* neighbour[2 * kMaxDim];  // [2 dim]
  const std::uint32_t* sites;                   // bits that are sites
};

struct Strip {
  std::uint32_t pieces;
  bool copied;                // a single piece, whose own words are a copy
  std::uint32_t first_group;  // number of the first group in the layout
  Piece piece[kStripWords / kPieceWords];
  // Buffers for words that are not read in place.
  alignas(64) std::uint32_t own[kStripWords];
  alignas(64) std::uint32_t neighbour[2 * kMaxDim][kStripWords];
  alignas(64) std::uint32_t sites[kStripWords];
};

// `words`: the range of a strip. spins: a replica, [2][colour_words]; the pieces of a strip that is
// not copied point into it.
void load_strip(const Layout& layout, std::uint32_t* spins, int colour, Words words, Strip& strip);
// Writes the pieces' own words back if they were copied.
void store_strip(const Layout& layout, const Strip& strip, int colour, std::uint32_t* spins);

}  // namespace rewise::bitlattice

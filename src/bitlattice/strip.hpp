// The CPU works on strips of a colour's words: at most 256 consecutive ones, across row ends. Rows
// of whole 64 words are read and written in their places, row by row; of others the words and those
// of their neighbours are copied side by side. So one piece of vector code serves rows of any
// length.
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

// Words whose neighbours are consecutive too.
struct Piece {
  std::uint64_t first;  // word of the colour
  std::uint32_t words;  // a multiple of kGroupWords; to be read up to a multiple of kPieceWords
  std::uint32_t* own;
  const std::uint32_t* neighbour[2 * kMaxDim];  // [2 dim]
  const std::uint32_t* sites;                   // bits that are sites
};

struct Strip {
  std::uint32_t pieces;
  bool copied;                // one piece, whose own words are a copy
  std::uint32_t first_group;  // of the layout: pieces count from there
  Piece piece[kStripWords / kPieceWords];
  // What is not read in its place.
  alignas(64) std::uint32_t own[kStripWords];
  alignas(64) std::uint32_t neighbour[2 * kMaxDim][kStripWords];
  alignas(64) std::uint32_t sites[kStripWords];
};

// `words`, a strip's, of a colour. spins: a system, [2][colour_words]; `own` of the pieces of a
// strip that is not copied point there.
void load_strip(const Layout& layout, std::uint32_t* spins, int colour, Words words, Strip& strip);
// The pieces' own words to where they belong, if they were copied.
void store_strip(const Layout& layout, const Strip& strip, int colour, std::uint32_t* spins);

}  // namespace rewise::bitlattice

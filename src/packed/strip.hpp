// The CPU works on strips of a colour's words: at most 256 consecutive ones, across row ends, with
// the words of their neighbours copied beside them. So one piece of vector code serves rows of any
// length.
#pragma once

#include <cstdint>

#include "src/packed/rules.hpp"

namespace rewise::packed {

inline constexpr std::uint32_t kStripWords = 256;

inline std::uint64_t strips(const Layout& layout) {
  return (layout.colour_words() + kStripWords - 1) / kStripWords;
}

struct Strip {
  std::uint64_t first;  // word of the colour
  std::uint32_t words;  // of them, a multiple of kGroupWords
  alignas(64) std::uint32_t own[kStripWords];
  alignas(64) std::uint32_t neighbour[2 * kMaxDim][kStripWords];  // [2 dim]
  alignas(64) std::uint32_t sites[kStripWords];                   // bits that are sites
};

// Copies strip number `which` of a colour. spins: a system, [2][colour_words].
void load_strip(const Layout& layout, const std::uint32_t* spins, int colour, std::uint64_t which,
                Strip& strip);

}  // namespace rewise::packed

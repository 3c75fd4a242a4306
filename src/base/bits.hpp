// Logic on the bits of words, 32 at a time, on host and device; which bits of a byte are set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/base/hd.hpp"

namespace rewise {

RW_HD std::uint32_t xor3(std::uint32_t a, std::uint32_t b, std::uint32_t c) { return a ^ b ^ c; }
RW_HD std::uint32_t majority(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return (a & b) | (c & (a | b));
}
// mask ? a : b, bit by bit.
RW_HD std::uint32_t select(std::uint32_t mask, std::uint32_t a, std::uint32_t b) {
  return (mask & a) | (~mask & b);
}

// [byte][place]: the number of the bit that comes to it where those that are set go first.
inline constexpr auto kSetBits = [] {
  std::array<std::array<std::uint8_t, 8>, 256> bits{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::size_t n = 0;
    for (unsigned bit = 0; bit < 8; ++bit) {
      if ((byte >> bit & 1u) != 0) bits[byte][n++] = static_cast<std::uint8_t>(bit);
    }
  }
  return bits;
}();

}  // namespace rewise

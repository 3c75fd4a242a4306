// Bitwise selection on 32-bit words, on host and device, and a table of the set bits of a byte.
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

// [byte][k]: the index of the k-th lowest set bit of `byte`; 0 for k beyond the number of set bits.
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

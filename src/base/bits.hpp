// Logic on the bits of words, 32 at a time, on host and device.
#pragma once

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

}  // namespace rewise

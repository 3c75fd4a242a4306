// Comparison of spins kept as bytes, four at a time (host and device).
#pragma once

#include <cstdint>

#include "src/base/hd.hpp"

namespace rewise::bytespin {

// Bits 0 to 3 are set if bytes 0 to 3 of two words are equal. A byte of the difference is zero if
// neither its upper bit nor the carry of its other bits into it is set; the product gathers the
// four bits.
RW_HD std::uint32_t equal_bytes(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t difference = a ^ b;
  const std::uint32_t unequal = ((difference & 0x7f7f7f7fu) + 0x7f7f7f7fu) | difference;
  return ((~unequal >> 7 & 0x01010101u) * 0x01020408u) >> 24 & 15u;
}

}  // namespace rewise::bytespin

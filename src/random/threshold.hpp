// A probability as a 32-bit threshold: an event happens if a uniform 32-bit word is below it. 2^32
// (certainty) does not fit 32 bits, so thresholds are 64-bit numbers in [0, 2^32]. They are
// computed once on the host, so that updates use integers only.
#pragma once

#include <cmath>
#include <cstdint>

#include "src/base/hd.hpp"

namespace rewise {

using Threshold = std::uint64_t;
inline constexpr Threshold kCertain = Threshold{1} << 32;

// Nearest threshold to a probability; anything outside [0, 1] is clamped.
inline Threshold threshold(double probability) {
  if (!(probability > 0)) return 0;
  if (probability >= 1) return kCertain;
  return static_cast<Threshold>(std::nearbyint(probability * 4294967296.0));
}

// The threshold for engines that compare its 32 binary digits one by one. Certainty does not fit
// into 32 digits and becomes 1 - 2^-32.
inline Threshold capped_threshold(double probability) {
  const Threshold t = threshold(probability);
  return t < kCertain ? t : kCertain - 1;
}

RW_HD bool is_below(std::uint32_t word, Threshold t) { return word < t; }

}  // namespace rewise

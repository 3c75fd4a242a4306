// Gaps between independent events with probability q at positions 0, 1, 2, ...: the cost is
// proportional to the number of events, not of positions.
//
// A gap G is geometric, P(G = g) = (1 - q)^g q. Its binary digits are independent: with x_k = (1 -
// q)^(2^k), digit k is 1 with probability x_k / (1 + x_k), since
//     sum_g x^g = product_k (1 + x^(2^k)).
// G >= 2^40 has probability x_40 and means that there is no further event (bonds have fewer than
// 2^36 ends). Every probability is a 64-bit fixed-point number computed by integer arithmetic
// alone, so that a graph is the same on every machine. q is rounded to a multiple of 2^-64. Cost:
// about log2(44/q)/2 Philox calls per event.
#pragma once

#include <cstdint>
#include <vector>

#include "src/random/philox.hpp"

namespace rewise {

__extension__ using Wide = unsigned __int128;

// A probability in [0, 1] as a multiple of 2^-64; exact, apart from bits below 2^-64.
inline Wide fixed_point(double probability) {
  return static_cast<Wide>(probability * 18446744073709551616.0);
}

// A uniform integer in [0, n) from 64 random bits; bias below n / 2^64.
inline std::uint64_t uniform_below_wide(std::uint64_t random, std::uint64_t n) {
  return static_cast<std::uint64_t>((static_cast<Wide>(random) * n) >> 64);
}

class Gaps {
 public:
  static constexpr std::uint64_t kNever = std::uint64_t{1} << 40;

  // Gap number i is drawn at address (seed, Stream::graph_gap, item i).
  Gaps(std::uint64_t seed, Wide probability);

  std::uint64_t next();  // the number of non-events before the next event; >= kNever: there is none

 private:
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
  bool never_;                         // q = 0
  std::vector<std::uint64_t> digits_;  // threshold of each binary digit, in units of 2^-64
};

}  // namespace rewise

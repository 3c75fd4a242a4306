// The rules of the bitlattice engine: how random bits of the counter-based generator are assigned
// to sites, and how they decide about a flip. CPU and CUDA code, vectorised or not, follow these
// rules and therefore make the same moves.
//
// A local update visits colour 0, then colour 1. A site with spin s and degree 2d, D of whose
// neighbours have the opposite spin, has s h = 2d - 2D. Metropolis accepts D >= d without a draw,
// and D < d if the site's uniform binary fraction is below the threshold of exp(-2 beta s h).
// Glauber accepts D < d if the fraction is below t(D), the threshold of 1 / (1 + exp(2 beta s h)).
// It accepts D > d if the fraction is not below t(2d - D), and D = d if the first digit is 0. Both
// updates therefore need only d thresholds.
//
// Binary digits are compared one after the other, most significant first, until one differs from
// the digit of the threshold; at most 32 are used. The counter of a call has stream
// bitlattice_local, the number of the replica, and item = 2 group + colour, where `group` numbers
// the groups of words of one colour (layout.hpp). Bit b of a random word decides about the site at
// bit b of a word of the group:
//   digits 0 .. 7   word w of the group uses the random words of calls 2 w and 2 w + 1
//   later digits    come in levels l = 0 .. 5 of four digits each. Up to four sites at bit b, one
//                   per word of the group, are undecided. In the order of their words they use
//                   turns t = 0, 1, ..; turn t reads call 8 + 4 l + t.
// Every random bit is used by at most one site. Eight digits decide 255 of 256 sites, so one more
// call usually suffices for the undecided sites of 128.
//
// Random start: item as above, stream bitlattice_start, step 0, call 0. Random word w becomes word
// w of the group.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/bitlattice/layout.hpp"
#include "src/model/model.hpp"
#include "src/random/philox_shared.hpp"
#include "src/random/threshold.hpp"

namespace rewise::bitlattice {

inline constexpr unsigned kQuickCalls = 2, kQuickDigits = 4 * kQuickCalls;  // of each word
inline constexpr unsigned kLevels = 6;
inline constexpr unsigned kCalls = kGroupWords * (kQuickCalls + kLevels);

RW_HD unsigned quick_call(unsigned word, unsigned n) { return kQuickCalls * word + n; }
RW_HD unsigned level_call(unsigned level, unsigned turn) {
  return kGroupWords * (kQuickCalls + level) + turn;
}
RW_HD std::uint32_t item_of(std::uint32_t group, int colour) {
  return 2 * group + static_cast<std::uint32_t>(colour);
}

// The data common to all sites in one sweep of one replica.
struct Draws {
  PhiloxUpdate update;
  PhiloxCall call[kCalls];
  std::uint32_t digit[32][kMaxDim];  // of the thresholds of D = 0 .. dim - 1: 0 or ~0
};

// The digits of the thresholds at one temperature.
struct ThresholdDigits {
  std::uint32_t digit[32][kMaxDim]{};

  ThresholdDigits(int dim, const Model& model, double beta, LocalUpdate rule) {
    for (int unequal = 0; unequal < dim; ++unequal) {
      const int sh = 2 * dim - 2 * unequal;
      const Threshold t = model.capped_flip_threshold(rule, beta, sh);
      for (unsigned k = 0; k < 32; ++k) {
        digit[k][unequal] = (t >> (31 - k) & 1u) != 0 ? ~0u : 0u;
      }
    }
  }
};

// Number of leading digits that are 0 in all thresholds.
inline unsigned common_zeros(const Draws& draws) {
  unsigned zeros = 0;
  while (zeros < 32 && std::all_of(draws.digit[zeros], draws.digit[zeros] + kMaxDim,
                                   [](std::uint32_t digit) { return digit == 0; })) {
    ++zeros;
  }
  return zeros;
}

inline Draws make_draws(const ThresholdDigits& digits, std::uint64_t seed, std::uint32_t replica,
                        std::uint32_t step) {
  Draws draws;
  draws.update = PhiloxUpdate(seed, Stream::bitlattice_local, step);
  for (std::uint32_t call = 0; call < kCalls; ++call) {
    draws.call[call] = PhiloxCall(seed, replica, call, step);
  }
  std::copy(&digits.digit[0][0], &digits.digit[0][0] + 32 * kMaxDim, &draws.digit[0][0]);
  return draws;
}

}  // namespace rewise::bitlattice

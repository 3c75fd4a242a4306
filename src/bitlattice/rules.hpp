// The addresses of the random digits of the bitlattice engine. CPU and CUDA code, vectorised or
// not, follow these rules and therefore make the same moves.
//
// A local update visits colour 0, then colour 1. A site of degree 2d with D disagreeing neighbours
// has s h = 2d - 2D. Metropolis accepts D >= d without a draw, and D < d if the site's uniform
// binary fraction is below the threshold of exp(-2 beta s h). Glauber accepts D < d if the fraction
// is below the threshold of 1 / (1 + exp(2 beta s h)); D > d if it is not below that of 2d - D; D =
// d if the first digit is 0. So both compare with d thresholds.
//
// Digits, most significant first, are drawn lazily, until the first that differs from the
// threshold's; at most 32. Item = 2 group + colour, where group counts the groups of a colour's
// rows (layout.hpp); stream bitlattice_local; who = the system; bit b of every word decides about
// bit b of a word of the group:
//   digits 0 .. 7   word w uses the words of calls 2 w and 2 w + 1
//   then by levels of four digits, l = 0 .. 5: the (up to four) undecided sites at bit b of the
//                   group's words use turns t = 0, 1, .., in the order of their words; turn t reads
//                   call 8 + 4 l + t.
// Every random bit is used by at most one site. Eight digits decide 255 of 256 sites, so one more
// call usually suffices for the undecided sites of 128.
//
// Start: item as above, stream bitlattice_start, step 0, call 0: word w of a random system is word
// w.
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

// The data common to all sites in one sweep of one system.
struct Draws {
  PhiloxUpdate update;
  PhiloxCall call[kCalls];
  std::uint32_t digit[32][kMaxDim];  // of the thresholds of D = 0 .. dim - 1: 0 or ~0
};

// The digits of the thresholds at one temperature.
struct ThresholdDigits {
  std::uint32_t digit[32][kMaxDim]{};

  ThresholdDigits(int dim, const Model& model, double beta, LocalUpdate rule) {
    for (int disagreeing = 0; disagreeing < dim; ++disagreeing) {
      const int sh = 2 * dim - 2 * disagreeing;
      const Threshold t = model.flip_digits(rule, beta, sh);
      for (unsigned k = 0; k < 32; ++k) {
        digit[k][disagreeing] = (t >> (31 - k) & 1u) != 0 ? ~0u : 0u;
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

inline Draws make_draws(const ThresholdDigits& digits, std::uint64_t seed, std::uint32_t who,
                        std::uint32_t step) {
  Draws draws;
  draws.update = PhiloxUpdate(seed, Stream::bitlattice_local, step);
  for (std::uint32_t call = 0; call < kCalls; ++call) {
    draws.call[call] = PhiloxCall(seed, who, call, step);
  }
  std::copy(&digits.digit[0][0], &digits.digit[0][0] + 32 * kMaxDim, &draws.digit[0][0]);
  return draws;
}

}  // namespace rewise::bitlattice

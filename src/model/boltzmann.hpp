// Probabilities of updates for couplings and fields of any size, as 32-bit thresholds
// (src/random/threshold.hpp). They are computed with integers only, so that all hosts and devices
// make the same decisions. The energy of a move is an integer in units of 2^-20.
#pragma once

#include <cmath>
#include <cstdint>

#include "src/base/hd.hpp"
#include "src/model/interactions.hpp"
#include "src/random/philox.hpp"
#include "src/random/threshold.hpp"

namespace rewise {

// 2^63 2^-f for a fraction f = fraction / 2^32, to within 2^-40: the Taylor series of exp(-f ln 2)
// by Horner's rule. The k-th coefficient is 2^63 / k!; each partial sum is positive.
RW_HD std::uint64_t exp2_of_minus(std::uint32_t fraction) {
  constexpr std::uint64_t kLog2 = 0xB17217F7D1CF79ABu;  // 2^64 ln 2
  const std::uint64_t u = mulhi64(std::uint64_t{fraction} << 32, kLog2);
  std::uint64_t sum = 0;
  constexpr std::uint64_t kOne = std::uint64_t{1} << 63;
  constexpr std::uint64_t kFactorial[13] = {1,    1,     2,      6,       24,       120,      720,
                                            5040, 40320, 362880, 3628800, 39916800, 479001600};
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int k = 12; k >= 0; --k) sum = kOne / kFactorial[k] - mulhi64(u, sum);
  return sum;
}

// The Boltzmann factors of one temperature.
class Boltzmann {
 public:
  Boltzmann() = default;
  explicit Boltzmann(double beta)
      : scale_(static_cast<std::uint64_t>(std::nearbyint(
            std::fmin(std::ldexp(beta * 1.4426950408889634, 72 - kFixedBits), 0x1p63)))) {}

  // exp(-beta energy), for an energy of 0 to 2^40.
  RW_HD Threshold factor(std::uint64_t energy) const {
    const std::uint64_t x = mulhi64(energy << kShift, scale_);  // in units of 2^-32
    const std::uint64_t halvings = x >> 32;
    if (halvings > 32) return 0;
    const std::uint64_t mantissa = exp2_of_minus(static_cast<std::uint32_t>(x)) >> 30;
    return ((mantissa >> halvings) + 1) >> 1;
  }
  // Metropolis et al. 1953: min(1, exp(-beta energy)).
  RW_HD Threshold metropolis(std::int64_t energy) const {
    return energy <= 0 ? kCertain : factor(static_cast<std::uint64_t>(energy));
  }
  // Glauber 1963: 1 / (1 + exp(beta energy)).
  RW_HD Threshold glauber(std::int64_t energy) const {
    const Threshold f = factor(static_cast<std::uint64_t>(energy < 0 ? -energy : energy));
    const Threshold rise = f >= kCertain ? kCertain / 2 : (f << 32) / (kCertain + f);
    return energy > 0 ? rise : kCertain - rise;
  }
  // Activation of a bond (Fortuin & Kasteleyn 1972): 1 - exp(-beta energy), where `energy` is the
  // energy by which the bond favours the present spins; 0 if it does not favour them.
  RW_HD Threshold bond(std::int64_t energy) const {
    return energy <= 0 ? 0 : kCertain - factor(static_cast<std::uint64_t>(energy));
  }

 private:
  static constexpr int kShift = 24;  // energy x 2^24 x scale / 2^64 is in units of 2^-32

  // 2^72 beta / (2^20 ln 2). For beta from 1e-6 to 1e3 it has at least 33 significant bits.
  std::uint64_t scale_ = 0;
};

}  // namespace rewise

// Fast bond draws for one replica and step on CUDA, where a thread makes many single draws.
#pragma once

#include <cstdint>

#include "src/bytespin/rules.hpp"

namespace rewise::bytespin {

// draw_at() for the bonds of one replica and step. The products that all bonds share are computed
// once: Philox's first round of the step and its contribution to the second.
class BondDraws {
 public:
  BondDraws() = default;
  RW_HD BondDraws(const DrawKey& key, Threshold bond)
      : low_(static_cast<std::uint32_t>(key.seed)),
        high_(static_cast<std::uint32_t>(key.seed >> 32)),
        step_low_(kPhiloxM1 * key.step),
        bond_(bond) {
    const std::uint32_t c0 = mulhi32(kPhiloxM1, key.step) ^ lane_word(key.replica, 0) ^ low_;
    second_high_ = mulhi32(kPhiloxM0, c0);
    second_low_ = kPhiloxM0 * c0;
  }

  RW_HD bool drawn(std::uint32_t draw_index) const {
    const std::uint32_t item = (draw_index >> 6) << 4 | (draw_index & 15u);
    const std::uint32_t c2 =
        mulhi32(kPhiloxM0, item) ^ static_cast<std::uint32_t>(Stream::bytespin_bond) ^ high_;
    std::uint32_t w0 = mulhi32(kPhiloxM1, c2) ^ step_low_ ^ (low_ + kPhiloxW0);
    std::uint32_t w1 = kPhiloxM1 * c2;
    std::uint32_t w2 = second_high_ ^ (kPhiloxM0 * item) ^ (high_ + kPhiloxW1);
    std::uint32_t w3 = second_low_;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (std::uint32_t round = 2; round < kPhiloxRounds; ++round) {
      const std::uint32_t hi0 = mulhi32(kPhiloxM0, w0), lo0 = kPhiloxM0 * w0;
      const std::uint32_t hi1 = mulhi32(kPhiloxM1, w2), lo1 = kPhiloxM1 * w2;
      w0 = hi1 ^ w1 ^ (low_ + round * kPhiloxW0);
      w1 = lo1;
      w2 = hi0 ^ w3 ^ (high_ + round * kPhiloxW1);
      w3 = lo0;
    }
    const std::uint32_t low = (draw_index & 16u) != 0 ? w1 : w0,
                        high = (draw_index & 16u) != 0 ? w3 : w2;
    return is_below((draw_index & 32u) != 0 ? high : low, bond_);
  }

 private:
  std::uint32_t low_ = 0, high_ = 0, step_low_ = 0, second_high_ = 0, second_low_ = 0;
  Threshold bond_ = 0;
};

}  // namespace rewise::bytespin

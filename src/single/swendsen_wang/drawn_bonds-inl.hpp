// The occupied bonds of a Swendsen-Wang update, 64 at a time: drawn, and between equal spins
// (Highway; included once per instruction set).
#if defined(RW_DRAWN_BONDS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef RW_DRAWN_BONDS_INL_HPP_
#undef RW_DRAWN_BONDS_INL_HPP_
#else
#define RW_DRAWN_BONDS_INL_HPP_
#endif

#include <hwy/highway.h>

#include "src/single/rules.hpp"
#include "src/single/swendsen_wang/bits-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {

// As RunJoiner (src/label/runs-inl.hpp) wants them.
struct DrawnBonds {
  const std::uint64_t* drawn;  // bit of a slot (rules.hpp)
  const std::uint8_t* spins;
  std::uint64_t dim;

  // Bit x < count: the bond from site a + x to b + x. `before` spins ahead of a and b may be read.
  HWY_INLINE std::uint64_t word(std::uint64_t a, std::uint64_t b, int direction,
                                std::uint64_t count, std::uint64_t before) const {
    return drawn_from(a, static_cast<unsigned>(direction)) &
           equal_bits(spins + a, spins + b, count, before);
  }

 private:
  // 64 bits from any bit on, of a mask that is kept in halves `dim` apart.
  HWY_INLINE std::uint64_t drawn_from(std::uint64_t site, unsigned direction) const {
    const auto half = [&](std::uint64_t group) {
      const std::uint64_t index = group * dim + direction;
      return drawn[index / 2] >> 32 * (index % 2) & 0xffffffffu;
    };
    const std::uint64_t group = site / 32, shift = site % 32;
    const std::uint64_t bits = half(group) | half(group + 1) << 32;
    return shift == 0 ? bits : bits >> shift | half(group + 2) << (64 - shift);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();
#endif

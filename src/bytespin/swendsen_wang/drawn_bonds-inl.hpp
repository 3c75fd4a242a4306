// The occupied bonds of a Swendsen-Wang update, 64 at a time. A bond is occupied if it is drawn and
// joins equal spins. (Highway; included once per instruction set.)
#if defined(RW_DRAWN_BONDS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef RW_DRAWN_BONDS_INL_HPP_
#undef RW_DRAWN_BONDS_INL_HPP_
#else
#define RW_DRAWN_BONDS_INL_HPP_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "src/bytespin/rules.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
inline constexpr bool kByteVectors = false;
#else
inline constexpr bool kByteVectors = true;
#endif

// Bit k is set if a[k] == b[k], k < 64.
HWY_INLINE std::uint64_t equal_64(const std::uint8_t* a, const std::uint8_t* b) {
  const hn::CappedTag<std::uint8_t, 64> d;
  std::uint64_t bits;
  std::uint8_t bytes[8 + 8];
  for (std::size_t k = 0; k < 64; k += hn::Lanes(d)) {
    hn::StoreMaskBits(d, hn::Eq(hn::LoadU(d, a + k), hn::LoadU(d, b + k)), bytes + k / 8);
  }
  std::memcpy(&bits, bytes, 8);
  return bits;
}

// Bit k is set if a[k] == b[k], k < count <= 64. The `before` bytes that precede a and b may be
// read, too.
HWY_INLINE std::uint64_t equal_bits(const std::uint8_t* a, const std::uint8_t* b,
                                    std::uint64_t count, std::uint64_t before) {
  if (count == 0) return 0;
  if (kByteVectors && count + before >= 64) {
    return equal_64(a + count - 64, b + count - 64) >> (64 - count);
  }
  constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7full;
  std::uint64_t bits = 0, k = 0;
  for (; k + 8 <= count; k += 8) {
    std::uint64_t x, y;
    std::memcpy(&x, a + k, 8);
    std::memcpy(&y, b + k, 8);
    x ^= y;
    const std::uint64_t equal = ~(((x & kLow) + kLow) | x | kLow) >> 7;  // per byte: 1 or 0
    bits |= (equal * 0x0102040810204080ull >> 56) << k;
  }
  for (; k < count; ++k) bits |= std::uint64_t{a[k] == b[k]} << k;
  return bits;
}

// a[k] ^= bit k, k < count <= 64.
HWY_INLINE void xor_bits(std::uint8_t* a, std::uint64_t bits, std::uint64_t count) {
  if (kByteVectors && count == 64) {
    const hn::CappedTag<std::uint8_t, 64> d;
    std::uint8_t bytes[8 + 8] = {};  // LoadMaskBits may read 8 bytes past the mask
    std::memcpy(bytes, &bits, 8);
    for (std::size_t k = 0; k < 64; k += hn::Lanes(d)) {
      const auto ones = hn::IfThenElseZero(hn::LoadMaskBits(d, bytes + k / 8), hn::Set(d, 1));
      hn::StoreU(hn::Xor(hn::LoadU(d, a + k), ones), d, a + k);
    }
    return;
  }
  for (std::uint64_t k = 0; k < count; ++k) {
    a[k] = static_cast<std::uint8_t>(a[k] ^ (bits >> k & 1u));
  }
}

// The template argument `Bonds` of RunJoiner (src/label/runs-inl.hpp).
struct DrawnBonds {
  const std::uint64_t* drawn;  // a bit per draw index (rules.hpp)
  const std::uint8_t* spins;
  std::uint64_t dim;

  // Bit x < count is set if the bond from site a + x to b + x is occupied. The `before`
  // spins that precede a and b may be read, too.
  HWY_INLINE std::uint64_t word(std::uint64_t a, std::uint64_t b, int direction,
                                std::uint64_t count, std::uint64_t before) const {
    return drawn_from(a, static_cast<unsigned>(direction)) &
           equal_bits(spins + a, spins + b, count, before);
  }

 private:
  // Returns the bits of 64 consecutive sites from `site` on. The mask consists of halves of words,
  // [group of 32 sites][direction], so that consecutive groups are `dim` halves apart.
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

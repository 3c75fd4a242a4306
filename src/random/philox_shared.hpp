// Philox4x32-7 (philox.hpp) for many draws that share parts of their addresses. The products of
// rounds 1 to 3 that depend only on the item are computed once per item (PhiloxItem). Those that
// depend only on the word group or replica, the call and the step are computed once per update
// (PhiloxCall). Seven rounds have 14 products; 9 remain for each call at an item. Host and device;
// equal to random_words() bit for bit. philox-inl.hpp is the vectorised version.
#pragma once

#include <cstdint>

#include "src/random/philox.hpp"

namespace rewise {

// Both halves of a product, on the device by one instruction (a 64-bit product would compile to
// two).
RW_HD void multiply_wide(std::uint32_t a, std::uint32_t b, std::uint32_t& hi, std::uint32_t& lo) {
#if defined(__CUDA_ARCH__)
  asm("{ .reg .u64 p; mul.wide.u32 p, %2, %3; mov.b64 {%1, %0}, p; }"
      : "=r"(hi), "=r"(lo)
      : "r"(a), "r"(b));
#else
  const std::uint64_t product = static_cast<std::uint64_t>(a) * b;
  hi = static_cast<std::uint32_t>(product >> 32);
  lo = static_cast<std::uint32_t>(product);
#endif
}

// The seed of a run, from which the keys of the rounds follow.
struct PhiloxSeed {
  std::uint32_t low, high;

  RW_HD PhiloxSeed(std::uint64_t seed)
      : low(static_cast<std::uint32_t>(seed)), high(static_cast<std::uint32_t>(seed >> 32)) {}
  RW_HD operator std::uint64_t() const { return std::uint64_t{high} << 32 | low; }
};
RW_HD std::uint32_t first_key(const PhiloxSeed& seed, int round) {
  return seed.low + static_cast<std::uint32_t>(round) * kPhiloxW0;
}
RW_HD std::uint32_t second_key(const PhiloxSeed& seed, int round) {
  return seed.high + static_cast<std::uint32_t>(round) * kPhiloxW1;
}

// The part common to all draws of one update: keys of the rounds, stream and step.
struct PhiloxUpdate {
  std::uint32_t key0[kPhiloxRounds], key1[kPhiloxRounds];  // [round]
  std::uint32_t second_c2;  // round 2: the item-independent part of the third counter word
  std::uint32_t third_c0;   // round 3: likewise of the first counter word

  PhiloxUpdate() = default;
  // Items below 2^32.
  PhiloxUpdate(std::uint64_t seed, Stream stream, std::uint32_t step) {
    for (std::uint32_t round = 0; round < kPhiloxRounds; ++round) {
      key0[round] = static_cast<std::uint32_t>(seed) + round * kPhiloxW0;
      key1[round] = static_cast<std::uint32_t>(seed >> 32) + round * kPhiloxW1;
    }
    second_c2 = stream_word(stream, 0) ^ key1[0];
    third_c0 = (kPhiloxM1 * step) ^ key0[1];
  }
};
RW_HD std::uint32_t first_key(const PhiloxUpdate& update, int round) { return update.key0[round]; }
RW_HD std::uint32_t second_key(const PhiloxUpdate& update, int round) { return update.key1[round]; }

// The product of the second round that depends on the call alone, XORed with the round's key.
struct PhiloxCall {
  std::uint32_t hi, lo;

  PhiloxCall() = default;
  RW_HD PhiloxCall(const PhiloxSeed& seed, std::uint32_t system, std::uint32_t call,
                   std::uint32_t step) {
    const std::uint32_t c0 = mulhi32(kPhiloxM1, step) ^ lane_word(system, call) ^ seed.low;
    hi = mulhi32(kPhiloxM0, c0) ^ (seed.high + kPhiloxW1);
    lo = kPhiloxM0 * c0;
  }
};

// The products of one item.
struct PhiloxItem {
  std::uint32_t item_lo, c1, third_hi, third_lo;

  RW_HD PhiloxItem(const PhiloxUpdate& update, std::uint32_t item)
      : PhiloxItem(update.second_c2, update.third_c0, update.key1[2], item) {}
  // `stream`: a Stream; items below 2^32.
  RW_HD PhiloxItem(const PhiloxSeed& seed, std::uint32_t stream, std::uint32_t step,
                   std::uint32_t item)
      : PhiloxItem(stream ^ seed.high, (kPhiloxM1 * step) ^ first_key(seed, 1), second_key(seed, 2),
                   item) {}

  // `keys`: the update or the seed.
  template <class Keys>
  RW_HD Words4 words(const Keys& keys, const PhiloxCall& call) const {
    std::uint32_t high, w1;
    multiply_wide(kPhiloxM1, item_lo ^ call.hi, high, w1);
    std::uint32_t w0 = high ^ c1 ^ first_key(keys, 2);
    std::uint32_t w2 = third_hi ^ call.lo;
    std::uint32_t w3 = third_lo;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int round = 3; round < kPhiloxRounds; ++round) {
      std::uint32_t hi0, lo0, hi1, lo1;
      multiply_wide(kPhiloxM0, w0, hi0, lo0);
      multiply_wide(kPhiloxM1, w2, hi1, lo1);
      w0 = hi1 ^ w1 ^ first_key(keys, round);
      w1 = lo1;
      w2 = hi0 ^ w3 ^ second_key(keys, round);
      w3 = lo0;
    }
    return {{w0, w1, w2, w3}};
  }

 private:
  RW_HD PhiloxItem(std::uint32_t second_c2, std::uint32_t third_c0, std::uint32_t third_key,
                   std::uint32_t item) {
    std::uint32_t high;
    multiply_wide(kPhiloxM0, item, high, item_lo);
    multiply_wide(kPhiloxM1, high ^ second_c2, high, c1);
    multiply_wide(kPhiloxM0, high ^ third_c0, third_hi, third_lo);
    third_hi ^= third_key;
  }
};

}  // namespace rewise

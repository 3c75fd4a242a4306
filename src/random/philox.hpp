// Philox4x32-7: counter-based random numbers (Salmon, Moraes, Dror & Shaw, SC11; Random123).
//
// Every draw has an address: it is a pure function of
//     key     = the run seed (64 bit)
//     counter = (item, lane, step, stream)
// so it does not depend on the order of evaluation, on threads or on the device. `item` is a site,
// a slot, a bond or a replica; `lane` combines the word group or replica with the number of the
// call; `step` counts updates. Seven rounds are the fewest that pass BigCrush. Bits 32 and above of
// an item are the upper 24 bits of the stream word, so that items below 2^56 are distinct.
#pragma once

#include <cstdint>

#include "src/base/hd.hpp"
#include "src/random/streams.hpp"

namespace rewise {

inline constexpr int kPhiloxRounds = 7;
inline constexpr std::uint32_t kPhiloxM0 = 0xD2511F53u;
inline constexpr std::uint32_t kPhiloxM1 = 0xCD9E8D57u;
inline constexpr std::uint32_t kPhiloxW0 = 0x9E3779B9u;
inline constexpr std::uint32_t kPhiloxW1 = 0xBB67AE85u;

struct Words4 {
  std::uint32_t w[4];
};

// The upper 32 bits of a product of 32-bit numbers.
RW_HD std::uint32_t mulhi32(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __umulhi(a, b);
#else
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(a) * b) >> 32);
#endif
}

// The upper 64 bits of a product of 64-bit numbers.
RW_HD std::uint64_t mulhi64(std::uint64_t a, std::uint64_t b) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
#endif
}

// Philox4x32 with R rounds; equals r123::Philox4x32_R<R> (tests/random compares them).
template <int R = kPhiloxRounds>
RW_HD Words4 philox4x32(std::uint32_t c0, std::uint32_t c1, std::uint32_t c2, std::uint32_t c3,
                        std::uint32_t k0, std::uint32_t k1) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int round = 0; round < R; ++round) {
    const std::uint32_t hi0 = mulhi32(kPhiloxM0, c0), lo0 = kPhiloxM0 * c0;
    const std::uint32_t hi1 = mulhi32(kPhiloxM1, c2), lo1 = kPhiloxM1 * c2;
    c0 = hi1 ^ c1 ^ k0;
    c1 = lo1;
    c2 = hi0 ^ c3 ^ k1;
    c3 = lo0;
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  return {{c0, c1, c2, c3}};
}

// A stream word contains the upper bits of a 64-bit item above the stream's number.
RW_HD std::uint32_t stream_word(Stream stream, std::uint64_t item) {
  return static_cast<std::uint32_t>(stream) | (static_cast<std::uint32_t>(item >> 32) << 8);
}

// `system`: a replica or a word group, below 2^24. `call`: number of the call within a draw, below
// 256.
RW_HD std::uint32_t lane_word(std::uint32_t system, std::uint32_t call) {
  return system << 8 | call;
}

// The four random words at one address.
RW_HD Words4 random_words(std::uint64_t seed, Stream stream, std::uint64_t item,
                          std::uint32_t system, std::uint32_t call, std::uint32_t step) {
  return philox4x32(static_cast<std::uint32_t>(item), lane_word(system, call), step,
                    stream_word(stream, item), static_cast<std::uint32_t>(seed),
                    static_cast<std::uint32_t>(seed >> 32));
}

// Word pair (2*half, 2*half + 1) of a draw as one 64-bit number.
RW_HD std::uint64_t word64(const Words4& x, int half) {
  return static_cast<std::uint64_t>(x.w[2 * half + 1]) << 32 | x.w[2 * half];
}

// A uniform integer in [0, n), n < 2^32, from 64 random bits (bias below 2^-32).
RW_HD std::uint32_t uniform_below(std::uint64_t random, std::uint32_t n) {
  return static_cast<std::uint32_t>(mulhi64(random, n));
}

}  // namespace rewise

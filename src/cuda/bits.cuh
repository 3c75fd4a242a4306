// Words as masks of the sites of a row: bits from any place of a mask, and runs. A run is a stretch
// of sites that bonds along the row join; in a mask of starts the first site of each is set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rewise {

// 64 bits from bit `site` on, of a mask whose 32-bit words are `step` apart.
__device__ __forceinline__ std::uint64_t bits_from(const std::uint32_t* words, std::uint32_t step,
                                                   std::uint32_t site) {
  const std::uint32_t* word = words + static_cast<std::size_t>(site >> 5) * step;
  const std::uint32_t shift = site & 31u;
  std::uint32_t low = word[0], high = word[step];
  if (shift != 0) {
    low = __funnelshift_r(low, high, shift);
    high = __funnelshift_r(high, word[2 * static_cast<std::size_t>(step)], shift);
  }
  return static_cast<std::uint64_t>(high) << 32 | low;
}

__device__ __forceinline__ bool bit_at(const std::uint32_t* words, std::uint64_t index) {
  return (words[index >> 5] >> (index & 31u) & 1u) != 0;
}

// The lowest `count` bits, 0 <= count <= 64.
__device__ __forceinline__ std::uint64_t low_bits(std::uint32_t count) {
  return count == 0 ? 0 : ~std::uint64_t{0} >> (64 - count);
}

__device__ __forceinline__ unsigned lowest(std::uint32_t bits) {
  return static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1;
}
__device__ __forceinline__ unsigned lowest(std::uint64_t bits) {
  return static_cast<unsigned>(__ffsll(static_cast<long long>(bits))) - 1;
}

// Where the run of site x starts; a bit of `starts` is where a run does.
__device__ __forceinline__ unsigned run_start(std::uint64_t starts, unsigned x) {
  const std::uint64_t up_to = starts & ~std::uint64_t{0} >> (63 - x);
  return 63 - static_cast<unsigned>(__clzll(static_cast<long long>(up_to)));
}

// The first marked site of every run that has one. Adding a bit at each run's start to the
// unmarked sites carries up to the first marked one; the last site of a run stops every carry.
template <class Word>
__device__ __forceinline__ Word first_of_runs(Word starts, Word marked) {
  const Word stops = marked | starts >> 1 | Word{1} << (8 * sizeof(Word) - 1);
  return (~stops + starts) & marked;
}

}  // namespace rewise

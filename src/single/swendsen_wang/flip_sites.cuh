// Sites of a tile follow their roots: the last step of labelling (swendsen_wang_cuda.hpp).
#pragma once

#include "src/single/swendsen_wang/labels.cuh"

namespace rewise::single::device {

__device__ __forceinline__ std::uint32_t flip_of(const std::uint32_t* flips, std::uint32_t place) {
  return flips[place >> 5] >> (place & 31u) & 1u;
}

// Two places as two bytes, 0 or 1.
__device__ __forceinline__ std::uint32_t two_flips(const std::uint32_t* flips,
                                                   std::uint32_t places) {
  return flip_of(flips, places & 0xffffu) | flip_of(flips, places >> 16) << 8;
}

// By a warp, whose lanes hold the words of a tile: flips the sites whose root's place is set in
// `flips`. Returns how many this lane has flipped.
// kWide: rows are multiples of 16 sites; a lane takes eight sites of four rows at a time.
template <bool kWide>
__device__ __forceinline__ unsigned flip_sites(const SystemLabels& system, const TileWord& word,
                                               const std::uint32_t* flips, std::uint8_t* spins) {
  constexpr unsigned kSites = kWide ? 8 : 2;
  constexpr unsigned kRows = 32 * kSites / kWordSites;
  const unsigned lane = threadIdx.x % 32;
  const unsigned x = kSites * (lane % (kWordSites / kSites));
  unsigned flipped = 0;
#pragma unroll 4
  for (unsigned n = 0; n < kTileLanes; n += kRows) {
    const unsigned row = n + lane / (kWordSites / kSites);
    const std::uint32_t count = __shfl_sync(~0u, word.count, row);
    const Site first = __shfl_sync(~0u, word.first, row);
    if (x >= count) continue;
    const Site site = first + x;
    if constexpr (kWide) {
      const uint4 places = *reinterpret_cast<const uint4*>(system.place + site);
      const std::uint32_t low = two_flips(flips, places.x) | two_flips(flips, places.y) << 16;
      const std::uint32_t high = two_flips(flips, places.z) | two_flips(flips, places.w) << 16;
      auto* out = reinterpret_cast<uint2*>(spins + site);
      uint2 eight = *out;
      eight.x ^= low;
      eight.y ^= high;
      *out = eight;
      flipped += static_cast<unsigned>(__popc(low) + __popc(high));
    } else {
      for (unsigned j = 0; j < 2 && x + j < count; ++j) {
        const std::uint32_t flip = flip_of(flips, system.place[site + j]);
        spins[site + j] ^= static_cast<std::uint8_t>(flip);
        flipped += flip;
      }
    }
  }
  return flipped;
}

}  // namespace rewise::single::device

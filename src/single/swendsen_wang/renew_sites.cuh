// Sites of a tile take states by their roots: the last step of Potts updates by labelling.
#pragma once

#include "src/single/swendsen_wang/labels.cuh"

namespace rewise::single::device {

// By a warp, whose lanes hold the words of a tile: every spin becomes take(place of its root,
// spin). kWide: rows are multiples of 16 sites; a lane takes eight sites of four rows at a time.
template <bool kWide, class Take>
__device__ __forceinline__ void renew_sites(const SystemLabels& system, const TileWord& word,
                                            std::uint8_t* spins, Take&& take) {
  constexpr unsigned kSites = kWide ? 8 : 2;
  constexpr unsigned kRows = 32 * kSites / kWordSites;
  const unsigned lane = threadIdx.x % 32;
  const unsigned x = kSites * (lane % (kWordSites / kSites));
#pragma unroll 4
  for (unsigned n = 0; n < kTileLanes; n += kRows) {
    const unsigned row = n + lane / (kWordSites / kSites);
    const std::uint32_t count = __shfl_sync(~0u, word.count, row);
    const Site first = __shfl_sync(~0u, word.first, row);
    if (x >= count) continue;
    const Site site = first + x;
    if constexpr (kWide) {
      const uint4 places = *reinterpret_cast<const uint4*>(system.place + site);
      auto* out = reinterpret_cast<uint2*>(spins + site);
      const uint2 old = *out;
      const auto two = [&](std::uint32_t pair, std::uint32_t before, unsigned shift) {
        return std::uint32_t{take(pair & 0xffffu, static_cast<std::uint8_t>(before >> shift))}
                   << shift |
               std::uint32_t{take(pair >> 16, static_cast<std::uint8_t>(before >> (shift + 8)))}
                   << (shift + 8);
      };
      *out = make_uint2(two(places.x, old.x, 0) | two(places.y, old.x, 16),
                        two(places.z, old.y, 0) | two(places.w, old.y, 16));
    } else {
      for (unsigned j = 0; j < kSites && x + j < count; ++j) {
        spins[site + j] = take(system.place[site + j], spins[site + j]);
      }
    }
  }
}

}  // namespace rewise::single::device

// 64 sites of a row as bit masks: spins, modified cells, runs.
#pragma once

#include <cstdint>

#include "src/single/cells.hpp"
#include "src/single/swendsen_wang/labels.cuh"

namespace rewise::single::device {

// Sixteen bytes 0 or 1 as bits.
__device__ __forceinline__ std::uint32_t pack(const uint4& v) {
  const std::uint32_t low = __dp4a(v.y, 0x80402010u, __dp4a(v.x, 0x08040201u, 0u));
  const std::uint32_t high = __dp4a(v.w, 0x80402010u, __dp4a(v.z, 0x08040201u, 0u));
  return high << 8 | low;
}

// The spins of a word as bits. kAligned: rows are multiples of 16 sites.
template <bool kAligned>
__device__ __forceinline__ std::uint64_t load_spins(const std::uint8_t* at, std::uint32_t count) {
  std::uint64_t bits = 0;
  if (kAligned) {
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) {
      if (16 * j < count) {
        const auto part = static_cast<std::uint64_t>(pack(reinterpret_cast<const uint4*>(at)[j]));
        bits |= part << 16 * j;
      }
    }
    return bits;
  }
  const auto skip = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(at) & 3u);
  const auto* word = reinterpret_cast<const std::uint32_t*>(at - skip);
  std::uint32_t next = count > 0 ? word[0] : 0;
#pragma unroll 4
  for (unsigned j = 0; j < 16 && 4 * j < count; ++j) {
    const std::uint32_t here = next;
    next = 4 * (j + 1) < count + skip ? word[j + 1] : 0;
    const std::uint32_t four = __funnelshift_r(here, next, 8 * skip);
    bits |= static_cast<std::uint64_t>(__dp4a(four, 0x08040201u, 0u)) << 4 * j;
  }
  return bits & low_bits(count);
}

__device__ __forceinline__ std::uint64_t modified_bits(const SiteGroup* groups, Site site) {
  const SiteGroup* group = groups + (site >> 5);
  const std::uint32_t shift = site & 31u;
  std::uint32_t low = group[0].modified, high = group[1].modified;
  if (shift != 0) {
    low = __funnelshift_r(low, high, shift);
    high = __funnelshift_r(high, group[2].modified, shift);
  }
  return static_cast<std::uint64_t>(high) << 32 | low;
}

// Where the run of site x starts; a bit of `starts` is where a run does.
__device__ __forceinline__ unsigned run_start(std::uint64_t starts, unsigned x) {
  const std::uint64_t up_to = starts & ~std::uint64_t{0} >> (63 - x);
  return 63 - static_cast<unsigned>(__clzll(static_cast<long long>(up_to)));
}

// The first marked site of every run that has one. Adding a bit at each run's start to the
// unmarked sites carries up to the first marked one; the last site of a run stops every carry.
__device__ __forceinline__ std::uint64_t first_of_runs(std::uint64_t starts, std::uint64_t marked) {
  const std::uint64_t stops = marked | starts >> 1 | std::uint64_t{1} << 63;
  return (~stops + starts) & marked;
}

}  // namespace rewise::single::device

// What the kernels of a Swendsen-Wang update share: where a system's work space lies, bits from any
// place of a mask, sums.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/cuda/warp_sum.cuh"
#include "src/single/swendsen_wang/swendsen_wang_cuda.hpp"

namespace rewise::single::device {

// One system's part of DeviceLabels.
struct SystemLabels {
  std::uint32_t *drawn, *flips;
  std::uint16_t* place;
  std::uint32_t *parent, *size;
  std::uint64_t* nodes;

  __device__ __forceinline__ SystemLabels(const DeviceLabels& all, std::uint32_t who,
                                          std::uint64_t stride)
      : drawn(all.drawn + who * all.drawn_stride),
        flips(all.flips + who * all.flip_stride),
        place(all.place + who * stride),
        parent(all.parent + who * stride),
        size(all.size + who * stride),
        nodes(all.nodes + static_cast<std::size_t>(who) * all.tiles.count * kTileLanes) {}
};

// 64 bits from bit `site` on, of a mask whose 32-bit words are `step` apart.
__device__ __forceinline__ std::uint64_t bits_from(const std::uint32_t* words, std::uint32_t step,
                                                   Site site) {
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

__device__ __forceinline__ unsigned lowest(std::uint64_t bits) {
  return static_cast<unsigned>(__ffsll(static_cast<long long>(bits))) - 1;
}

// Adds to the sums of one update and system: n^2, and n^4 in two words with the carry.
__device__ __forceinline__ void add_sums(const DeviceLabels& all, std::uint32_t systems,
                                         std::uint32_t update, std::uint32_t who,
                                         std::uint32_t tile, std::uint64_t square, WideSum fourth) {
  const std::size_t row = static_cast<std::size_t>(update) * systems + who;
  unsigned long long* sum = all.sums + (row * all.copies + tile % all.copies) * 3;
  atomicAdd_system(sum, static_cast<unsigned long long>(square));
  atomic_add_wide(sum + 1, sum + 2, fourth);
}

}  // namespace rewise::single::device

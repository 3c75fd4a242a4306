// Groups of the bitlattice engine on the device: the group of a thread, its words and their
// neighbours.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "src/bitlattice/rules.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bitlattice::device {

constexpr unsigned kThreads = 128;
constexpr unsigned kMaxColumns = 65535;  // of blocks along a row

// In a block, `along` threads (a power of two, at most 32) share each of threads / along rows.
// Blocks along a row are numbered by y, blocks of rows by x, because a grid may have more blocks in
// x.
inline LaunchShape shape_of(const Layout& g, Rows which, unsigned threads) {
  unsigned along = 1;
  while (along < 32 && along < g.groups) along *= 2;
  const unsigned rows = threads / along;
  LaunchShape shape{(which.last - which.first - 1) / rows + 1, along};
  shape.blocks_y = std::min((g.groups - 1) / along + 1, kMaxColumns);
  shape.threads_y = rows;
  return shape;
}

// Calls f(row, group of the row) for this thread's groups of the rows.
template <class F>
__device__ __forceinline__ void for_my_groups(const Layout& g, Rows rows, const F& f) {
  const std::uint32_t row = rows.first + blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows.last) return;
  for (std::uint32_t j = blockIdx.y * blockDim.x + threadIdx.x; j < g.groups;
       j += gridDim.y * blockDim.x) {
    f(row, j);
  }
}

struct Group {
  std::uint32_t w[kGroupWords];
};

__device__ __forceinline__ Group load(const std::uint32_t* p) {
  const uint4 v = __ldg(reinterpret_cast<const uint4*>(p));
  return {{v.x, v.y, v.z, v.w}};
}
__device__ __forceinline__ void store(std::uint32_t* p, const Group& v) {
  *reinterpret_cast<uint4*>(p) = make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]);
}

// x[w][k]: sites where own word w differs from its neighbours k. `colour`: the number of the colour
// by the parities of the layout's rows; `other`: the words of the other colour.
template <int kDim, bool kPadded>
__device__ __forceinline__ void disagree(const Layout& g, int colour, std::uint32_t row,
                                         std::uint32_t j, const Group& own,
                                         const std::uint32_t* other,
                                         std::uint32_t (&x)[kGroupWords][2 * kDim]) {
  const RowPlace place = g.row_place<kDim>(row);
  const std::uint64_t stride = g.stride();
  const std::uint32_t* beside = other + row * stride;
  const bool odd = odd_sites(colour, place.odd_row);
  const std::uint32_t last = (g.half - 1) / 32, last_bit = (g.half - 1) % 32;
  const bool ends = j + 1 == g.groups;
  // The word before or after the group's, periodic along the row.
  std::uint32_t over;
  if (odd) {
    over = __ldg(beside + (ends ? 0 : kGroupWords * (j + 1)));
  } else {
    over = __ldg(beside + (j == 0 ? last : kGroupWords * j - 1));
    if (kPadded && j == 0) over <<= 31 - last_bit;
  }
  const Group same = load(beside + kGroupWords * j);
  Group far[2 * kDim - 2 + 1];
#pragma unroll
  for (int k = 0; k < 2 * kDim - 2; ++k) {
    far[k] = load(other + place.beside[k] * stride + kGroupWords * j);
  }
  std::uint32_t side[kGroupWords];
#pragma unroll
  for (int w = 0; w < static_cast<int>(kGroupWords); ++w) {
    constexpr int kLast = kGroupWords - 1;
    const std::uint32_t after = w == kLast ? over : same.w[w == kLast ? w : w + 1];
    const std::uint32_t before = w == 0 ? over : same.w[w == 0 ? w : w - 1];
    side[w] = odd ? shifted(true, same.w[w], after) : shifted(false, same.w[w], before);
  }
  if (kPadded && odd && ends) {
#pragma unroll
    for (unsigned w = 0; w < kGroupWords; ++w) {
      // Bits that were shifted in from beyond the end of the row are not neighbours.
      if (kGroupWords * j + w == last) side[w] = same.w[w] >> 1 | (over & 1u) << last_bit;
    }
  }
#pragma unroll
  for (unsigned w = 0; w < kGroupWords; ++w) {
    x[w][0] = own.w[w] ^ same.w[w];
    x[w][1] = own.w[w] ^ side[w];
#pragma unroll
    for (int k = 0; k < 2 * kDim - 2; ++k) x[w][2 + k] = own.w[w] ^ far[k].w[w];
  }
}

}  // namespace rewise::bitlattice::device

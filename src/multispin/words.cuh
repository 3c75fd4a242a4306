// The words of a pack of word groups (layout_cuda.hpp) in registers.
#pragma once

#include <cstdint>

#include "src/multispin/layout_cuda.hpp"

namespace rewise::multispin::device {

// The words of a pack of kVec word groups at one slot.
template <int kVec>
struct GroupWords {
  std::uint32_t w[kVec];
};

// Read and write them by accesses of 16 or 8 bytes if kVec is a multiple of 4 or 2.
template <int kVec>
__device__ __forceinline__ GroupWords<kVec> load(const std::uint32_t* p) {
  GroupWords<kVec> words;
  if constexpr (kVec % 4 == 0) {
#pragma unroll
    for (int v = 0; v < kVec; v += 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(p + v);
      words.w[v] = four.x;
      words.w[v + 1] = four.y;
      words.w[v + 2] = four.z;
      words.w[v + 3] = four.w;
    }
  } else if constexpr (kVec % 2 == 0) {
#pragma unroll
    for (int v = 0; v < kVec; v += 2) {
      const uint2 two = *reinterpret_cast<const uint2*>(p + v);
      words.w[v] = two.x;
      words.w[v + 1] = two.y;
    }
  } else {
#pragma unroll
    for (int v = 0; v < kVec; ++v) words.w[v] = p[v];
  }
  return words;
}
template <int kVec>
__device__ __forceinline__ void store(std::uint32_t* p, const GroupWords<kVec>& v) {
  if constexpr (kVec % 4 == 0) {
#pragma unroll
    for (int k = 0; k < kVec; k += 4) {
      *reinterpret_cast<uint4*>(p + k) = make_uint4(v.w[k], v.w[k + 1], v.w[k + 2], v.w[k + 3]);
    }
  } else if constexpr (kVec % 2 == 0) {
#pragma unroll
    for (int k = 0; k < kVec; k += 2) {
      *reinterpret_cast<uint2*>(p + k) = make_uint2(v.w[k], v.w[k + 1]);
    }
  } else {
#pragma unroll
    for (int k = 0; k < kVec; ++k) p[k] = v.w[k];
  }
}

}  // namespace rewise::multispin::device

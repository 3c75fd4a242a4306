// Division of 32-bit integers by a fixed divisor, as one 64-bit product. Kernels use it to convert
// sites to coordinates.
#pragma once

#include <cstdint>

#include "src/base/hd.hpp"

namespace rewise {

// floor(n / d) = floor(n ceil(2^64 / d) / 2^64) for every n, d < 2^32, d > 1: the product exceeds
// the ratio by less than n / 2^64 < 1 / d.
struct FastDiv {
  std::uint32_t divisor = 1;
  std::uint64_t inverse = 0;

  FastDiv() = default;
  explicit FastDiv(std::uint32_t d) : divisor(d), inverse(d > 1 ? ~std::uint64_t{0} / d + 1 : 0) {}

  RW_HD std::uint32_t quotient(std::uint32_t n) const {
    if (inverse == 0) return n;
#if defined(__CUDA_ARCH__)
    return static_cast<std::uint32_t>(__umul64hi(n, inverse));
#else
    __extension__ using Product = unsigned __int128;
    return static_cast<std::uint32_t>((static_cast<Product>(inverse) * n) >> 64);
#endif
  }
};

}  // namespace rewise

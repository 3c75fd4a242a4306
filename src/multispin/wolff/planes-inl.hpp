// Transposition of a matrix of bits: from 32 words of sites to 32 words of replicas, and back.
// (Included once per instruction set.)
#if defined(RW_MULTISPIN_PLANES_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef RW_MULTISPIN_PLANES_INL_HPP_
#undef RW_MULTISPIN_PLANES_INL_HPP_
#else
#define RW_MULTISPIN_PLANES_INL_HPP_
#endif

#include <algorithm>

#include "src/multispin/layout.hpp"
#include "src/multispin/local/count-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::multispin {
namespace HWY_NAMESPACE {

// Transposes a 32 x 32 bit matrix: bit r of x[i] becomes bit i of x[r].
HWY_INLINE void transpose(std::uint32_t* x) {
  std::uint32_t mask = 0x0000FFFFu;
  for (unsigned j = 16; j != 0; j >>= 1, mask ^= mask << j) {
    for (unsigned k = 0; k < 32; k += 2 * j) {
      for (unsigned i = k; i < k + j; ++i) {
        const std::uint32_t t = ((x[i] >> j) ^ x[i + j]) & mask;
        x[i + j] ^= t;
        x[i] ^= t << j;
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise::multispin
HWY_AFTER_NAMESPACE();
#endif

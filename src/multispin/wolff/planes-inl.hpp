// Transposition of the bits of 32 sites and 32 replicas, and the order of sites in it.
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

// Calls f(slot of the site) for sites [first, last) in order, by rows.
template <class F>
HWY_INLINE void walk_sites(const Layout& layout, std::uint64_t first, std::uint64_t last,
                           const F& f) {
  if (layout.lattice.dim == 0) {
    for (std::uint64_t s = first; s < last; ++s) f(s - first, kGuard + s);
    return;
  }
  const std::uint64_t length = 2 * std::uint64_t{layout.half_row};
  std::uint64_t site = first;
  while (site < last) {
    const auto row = static_cast<std::uint32_t>(site / length);
    const std::uint64_t end = std::min(last, (row + std::uint64_t{1}) * length);
    const unsigned parity = layout.row_parity[row];
    // Even sites of the row have colour parity, odd ones the other.
    const std::uint64_t base[2] = {layout.colour_base[parity], layout.colour_base[1 - parity]};
    for (; site < end; ++site) f(site - first, base[site & 1] + site / 2);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise::multispin
HWY_AFTER_NAMESPACE();
#endif

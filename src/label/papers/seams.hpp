// Bonds across one plane of the lattice: between tiles, or around it.
#pragma once

#include <bit>
#include <cstdint>

#include "src/label/configuration.hpp"

namespace rewise {

// Calls f(a, b) for the occupied bonds in direction k from sites a whose coordinate there is c.
template <class F>
void for_each_seam_bond(const BondConfiguration& configuration, int k, std::uint32_t c, F&& f) {
  const Lattice& lattice = configuration.lattice;
  const std::uint32_t length = lattice.extent[static_cast<std::size_t>(k)];
  std::uint64_t stride = 1;
  for (int j = 0; j < k; ++j) stride *= lattice.extent[static_cast<std::size_t>(j)];
  const bool around = c + 1 == length;
  for (std::uint64_t outer = 0; outer < configuration.sites; outer += stride * length) {
    const std::uint64_t from = outer + c * stride, to = around ? outer : from + stride;
    for (std::uint64_t at = 0; at < stride; at += 64) {
      std::uint64_t bits = configuration.bits_from(from + at, k);
      if (stride - at < 64) bits &= (std::uint64_t{1} << (stride - at)) - 1;
      for (; bits != 0; bits &= bits - 1) {
        const std::uint64_t x = at + static_cast<unsigned>(std::countr_zero(bits));
        f(static_cast<Site>(from + x), static_cast<Site>(to + x));
      }
    }
  }
}

}  // namespace rewise

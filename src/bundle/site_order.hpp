// Walks a bundle's words in site order: the order of saved states and trajectory hashes.
#pragma once

#include "src/bundle/layout.hpp"

namespace rewise::bundle {

// Calls f(site, slot) for every site.
template <class F>
void for_each_word(const Layout& layout, const F& f) {
  if (layout.lattice.dim == 0) {
    for (Site s = 0; s < layout.sites; ++s) f(s, kGuard + s);
    return;
  }
  Site site = 0;
  for (std::uint32_t row = 0; row < layout.rows; ++row) {
    const unsigned parity = layout.row_parity[row];
    const std::uint64_t even = layout.colour_base[parity], odd = layout.colour_base[1 - parity];
    for (std::uint32_t h = 0; h < layout.half_row; ++h, site += 2) {
      f(site, static_cast<Slot>(even + site / 2));
      f(site + 1, static_cast<Slot>(odd + site / 2));
    }
  }
}

}  // namespace rewise::bundle

#include "src/label/configuration.hpp"

namespace rewise {
namespace {

// Returns 64 bits of a mask from any site on.
std::uint64_t bits_of(const std::vector<std::uint64_t>& mask, std::uint64_t site) {
  const std::uint64_t shift = site % 64, low = mask[site / 64];
  return shift == 0 ? low : low >> shift | mask[site / 64 + 1] << (64 - shift);
}

}  // namespace

void remove_bonds_of_absent_sites(BondConfiguration& c) {
  if (c.present_sites.empty()) return;
  const std::uint64_t length = c.lattice.extent[0];
  std::vector<std::uint64_t> ahead(c.words);  // presence of the neighbours at +1
  for (int k = 0; k < c.lattice.dim; ++k) {
    std::fill(ahead.begin(), ahead.end(), 0u);
    for (std::uint64_t row = 0; row < c.sites; row += length) {
      const std::uint64_t next = k == 0 ? row + 1 : c.lattice.forward(static_cast<Site>(row), k);
      for (std::uint64_t x = 0; x < length; x += 64) {
        std::uint64_t bits = bits_of(c.present_sites, next + x);
        if (length - x < 64) bits &= (std::uint64_t{1} << (length - x)) - 1;
        or_bits(ahead, row + x, bits);
      }
      if (k > 0) continue;
      const std::uint64_t last = row + length - 1;  // closes to the row's first site
      ahead[last / 64] &= ~(std::uint64_t{1} << last % 64);
      if (c.present(static_cast<Site>(row))) or_bits(ahead, last, 1);
    }
    auto& mask = c.bonds[static_cast<std::size_t>(k)];
    for (std::size_t w = 0; w < c.words; ++w) mask[w] &= c.present_sites[w] & ahead[w];
  }
  std::erase_if(c.extra,
                [&](const SitePair& bond) { return !c.present(bond.a) || !c.present(bond.b); });
}

}  // namespace rewise

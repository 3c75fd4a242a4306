// Input of a search for connected components: the occupied bonds of a lattice as bit masks, other
// bonds as pairs of sites and, for images, the present sites.
//
// The lattice is a torus of any extents, odd ones included. For an open boundary, leave the bonds
// that close the torus unoccupied. Code that fills a configuration must maintain two invariants: no
// bond touches an absent site, and bits beyond the last site are 0.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "graphs/lattice.hpp"

namespace rewise {

struct SitePair {
  Site a, b;
};

struct BondConfiguration {
  // Starts without occupied bonds and with all sites present. `lattice.dim` 0: no lattice, only
  // `extra` bonds.
  explicit BondConfiguration(const Lattice& on, std::uint64_t site_count)
      : lattice(on), sites(site_count), words(site_count / 64 + 2) {
    for (int k = 0; k < lattice.dim; ++k) bonds[static_cast<std::size_t>(k)].resize(words);
  }
  explicit BondConfiguration(const Lattice& on) : BondConfiguration(on, on.sites()) {}

  // Marks the bond from a site to its neighbour at +1 in a direction as occupied.
  void occupy(Site site, int direction) {
    bonds[static_cast<std::size_t>(direction)][site / 64] |= std::uint64_t{1} << site % 64;
  }
  bool occupied(Site site, int direction) const {
    return (bonds[static_cast<std::size_t>(direction)][site / 64] >> site % 64 & 1u) != 0;
  }
  // Returns 64 bits of a direction's mask, starting at any site.
  std::uint64_t bits_from(std::uint64_t site, int direction) const {
    const std::uint64_t* word = bonds[static_cast<std::size_t>(direction)].data() + site / 64;
    const std::uint64_t shift = site % 64;
    return shift == 0 ? *word : *word >> shift | word[1] << (64 - shift);
  }
  // Occupies bonds: bit x is the bond of site + x.
  void add_bits(std::uint64_t site, int direction, std::uint64_t bits) {
    std::uint64_t* const word = bonds[static_cast<std::size_t>(direction)].data() + site / 64;
    const std::uint64_t shift = site % 64;
    word[0] |= bits << shift;
    if (shift != 0) word[1] |= bits >> (64 - shift);
  }
  void clear() {
    for (auto& mask : bonds) std::fill(mask.begin(), mask.end(), 0u);
    extra.clear();
  }
  bool present(Site site) const {
    return present_sites.empty() || (present_sites[site / 64] >> site % 64 & 1u) != 0;
  }

  Lattice lattice;
  std::uint64_t sites;
  std::size_t words;                                      // of a mask
  std::array<std::vector<std::uint64_t>, kMaxDim> bonds;  // [direction][words], bit: site
  std::vector<SitePair> extra;                            // occupied bonds outside of the lattice
  std::vector<std::uint64_t> present_sites;               // [words], or empty: all
};

// Calls f(a, b, direction) for every occupied bond of the lattice, row by row and separately for
// each direction; b is a's neighbour at +1.
template <class F>
void for_each_lattice_bond(const BondConfiguration& c, F&& f) {
  if (c.lattice.dim == 0) return;
  const std::uint32_t length = c.lattice.extent[0];
  for (std::uint64_t first = 0; first < c.sites; first += length) {
    const auto row = static_cast<Site>(first);
    for (int k = 0; k < c.lattice.dim; ++k) {
      const Site next = k == 0 ? row + 1 : c.lattice.forward(row, k);
      for (std::uint64_t x = 0; x < length; x += 64) {
        const std::uint64_t rest = length - x;
        std::uint64_t bits = c.bits_from(first + x, k);
        if (rest < 64) bits &= (std::uint64_t{1} << rest) - 1;
        for (; bits != 0; bits &= bits - 1) {
          const auto at =
              static_cast<std::uint32_t>(x) + static_cast<std::uint32_t>(std::countr_zero(bits));
          f(row + at, k == 0 && at + 1 == length ? row : next + at, k);
        }
      }
    }
  }
}

// Calls f(a, b) for the occupied bonds in direction k that begin in one plane of the lattice: the
// coordinate k of site a is c.
template <class F>
void for_each_plane_bond(const BondConfiguration& configuration, int k, std::uint32_t c, F&& f) {
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

// Calls f for the lattice's bonds, then for the extra ones.
template <class F>
void for_each_occupied(const BondConfiguration& c, F&& f) {
  for_each_lattice_bond(c, [&](Site a, Site b, int) { f(a, b); });
  for (const SitePair& bond : c.extra) f(bond.a, bond.b);
}

}  // namespace rewise

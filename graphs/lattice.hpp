// The regular lattice under every rewired graph: hypercubic, d = 1..4, periodic; extents may
// differ. Every extent is even (so that the checkerboard closes) and at least 4 (no double bonds).
//
// Site index: x fastest. Bond index: site * d + direction, the bond from a site to its neighbour at
// +1 in that direction. Colour: parity of the coordinate sum, 0 or 1. Sites 2k and 2k + 1 always
// have different colours, so (colour, site / 2) is a dense numbering of each colour. Trivially
// copyable: passed to kernels by value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/base/hd.hpp"

namespace rewise {

using Site = std::uint32_t;
using Bond = std::uint64_t;
inline constexpr int kMaxDim = 4;
inline constexpr std::uint64_t kMaxSites = 0xFFFFFFFFull;  // site counts up to 2^32 - 1

struct Lattice {
  int dim = 0;  // 0: no lattice (an imported graph)
  std::array<std::uint32_t, kMaxDim> extent{1, 1, 1, 1};

  // Checks dimension and parity of the extents. Throws Error(usage) with the invalid value.
  static void check(const std::vector<std::uint32_t>& extents);
  // Also checks the number of sites.
  static Lattice make(const std::vector<std::uint32_t>& extents);

  RW_HD std::uint64_t sites() const {
    return std::uint64_t{extent[0]} * extent[1] * extent[2] * extent[3];
  }
  RW_HD std::uint64_t bonds() const { return sites() * static_cast<unsigned>(dim); }

  RW_HD std::uint32_t coordinate(Site site, int direction) const {
    for (int k = 0; k < direction; ++k) site /= extent[static_cast<unsigned>(k)];
    return site % extent[static_cast<unsigned>(direction)];
  }
  RW_HD int colour(Site site) const {
    // Extents are even: a coordinate has the parity of the quotient by its stride.
    std::uint32_t sum = dim == 0 ? 0 : site;
    for (int k = 0; k + 1 < dim; ++k) {
      site /= extent[static_cast<unsigned>(k)];
      sum += site;
    }
    return static_cast<int>(sum & 1u);
  }
  // The neighbour one step forward (+1) or backward (-1) in a direction.
  RW_HD Site forward(Site site, int direction) const {
    std::uint32_t stride = 1;
    for (int k = 0; k < direction; ++k) stride *= extent[static_cast<unsigned>(k)];
    const std::uint32_t length = extent[static_cast<unsigned>(direction)];
    return at(site, direction, stride) + 1 == length ? site - stride * (length - 1) : site + stride;
  }
  RW_HD Site backward(Site site, int direction) const {
    std::uint32_t stride = 1;
    for (int k = 0; k < direction; ++k) stride *= extent[static_cast<unsigned>(k)];
    const std::uint32_t length = extent[static_cast<unsigned>(direction)];
    return at(site, direction, stride) == 0 ? site + stride * (length - 1) : site - stride;
  }

  // The original ends of a lattice bond: its site, and the neighbour of that site forward.
  RW_HD Site home_a(Bond bond) const {
    switch (dim) {  // divisions by constants compile to multiplications or shifts
      case 1:
        return static_cast<Site>(bond);
      case 2:
        return static_cast<Site>(bond / 2);
      case 3:
        return static_cast<Site>(bond / 3);
      default:
        return static_cast<Site>(bond / 4);
    }
  }
  RW_HD Site home_b(Bond bond) const {
    return forward(home_a(bond), static_cast<int>(bond % static_cast<unsigned>(dim)));
  }
  // Site number k of a colour, k < sites() / 2.
  RW_HD Site site_of_colour(int which, std::uint32_t k) const {
    const Site even = 2 * k;
    return colour(even) == which ? even : even + 1;
  }
  // The lattice bond between two sites, if they are lattice neighbours.
  std::optional<Bond> bond_between(Site u, Site v) const {
    for (int dir = 0; dir < dim; ++dir) {
      const auto d = static_cast<unsigned>(dim), k = static_cast<unsigned>(dir);
      if (forward(u, dir) == v) return Bond{u} * d + k;
      if (forward(v, dir) == u) return Bond{v} * d + k;
    }
    return std::nullopt;
  }

 private:
  // The coordinate in a direction; omits divisions without effect.
  RW_HD std::uint32_t at(Site site, int direction, std::uint32_t stride) const {
    const std::uint32_t over = direction == 0 ? site : site / stride;
    return direction + 1 == dim ? over : over % extent[static_cast<unsigned>(direction)];
  }
};

// Calls f.template operator()<kDim>() with the lattice's dimension, 1 to 4 (host).
template <class F>
decltype(auto) with_lattice_dim(int dim, F&& f) {
  switch (dim) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    default:
      return f.template operator()<4>();
  }
}
// The same with 0 if there is no lattice.
template <class F>
decltype(auto) with_dim(int dim, F&& f) {
  return dim == 0 ? f.template operator()<0>() : with_lattice_dim(dim, f);
}

}  // namespace rewise

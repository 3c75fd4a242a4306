// The bonds across tile borders, numbered.
#pragma once

#include <cstdint>

#include "src/single/device_plan.hpp"
#include "src/single/tiles.hpp"

namespace rewise::single {

// Bonds across tile borders of one system, by direction, then its rewired bonds. A list begins at a
// multiple of 32, so that a warp has bonds of one list.
struct Seams {
  std::uint64_t first[kMaxDim + 2]{};  // of each list; [dim + 1] the end
  FastDiv inner[kMaxDim]{};            // sites of a hyperplane below direction k
  FastDiv across[kMaxDim]{};           // borders along direction k
  FastDiv rows;                        // along x

  template <int kDim>
  static Seams make(const DevicePlan& plan, const Tiles& tiles, const Geometry& geometry) {
    Seams seams;
    for (int k = 0; k < kDim; ++k) {
      const std::uint32_t across = k == 0 ? tiles.per_row : tiles.along[k].divisor;
      const std::uint64_t bonds = plan.sites / geometry.extent[k] * across;
      seams.across[k] = FastDiv(across);
      if (k == 0) seams.rows = FastDiv(static_cast<std::uint32_t>(plan.sites / geometry.extent[0]));
      seams.inner[k] = FastDiv(geometry.stride[k]);
      seams.first[k + 1] = seams.first[k] + (bonds + 31) / 32 * 32;
    }
    seams.first[kDim + 1] = seams.first[kDim] + plan.rewired_count;
    return seams;
  }
};

// A bond across a border along `direction`, from a to b, ahead of it.
struct SeamBond {
  bool exists = false;
  int direction = 0;
  Site a = 0, b = 0;
};

// Bond number `index` < seams.first[kDim].
template <int kDim>
RW_HD SeamBond seam_bond(const Geometry& g, const Seams& seams, std::uint64_t sites,
                         std::uint64_t index) {
  SeamBond bond;
  int& k = bond.direction;
  while (k + 1 < kDim && index >= seams.first[k + 1]) ++k;
  const auto number = static_cast<std::uint32_t>(index - seams.first[k]);
  std::uint32_t inner = 0, border = 0, outer = 0;
  if (k == 0) {  // consecutive ones cross the same border
    border = seams.rows.quotient(number);
    outer = number - border * seams.rows.divisor;
  } else {
    const std::uint32_t rest = seams.inner[k].quotient(number);
    inner = number - rest * seams.inner[k].divisor;
    outer = seams.across[k].quotient(rest);
    border = rest - outer * seams.across[k].divisor;
  }
  const std::uint64_t width =
      k == 0 ? (kDim < 2 ? kTileSites : kWordSites) : 1u << tile_bits<kDim>(k);
  const std::uint64_t end = (border + 1) * width;
  const std::uint32_t c = (end < g.extent[k] ? static_cast<std::uint32_t>(end) : g.extent[k]) - 1;
  const std::uint64_t base = static_cast<std::uint64_t>(outer) * g.extent[k] * g.stride[k] + inner;
  const std::uint64_t a = base + static_cast<std::uint64_t>(c) * g.stride[k];
  if (border >= seams.across[k].divisor || a >= sites) return bond;
  bond.exists = true;
  bond.a = static_cast<Site>(a);
  bond.b = g.ahead(bond.a, c, k);
  return bond;
}

}  // namespace rewise::single

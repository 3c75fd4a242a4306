// Numbers the bonds across tile borders. For a rank's part the list includes some bonds beyond it.
#pragma once

#include <cstdint>

#include "src/bytespin/graph_view.hpp"
#include "src/bytespin/swendsen_wang/tiles.hpp"

namespace rewise::bytespin {

// The bonds across tile borders of one replica, or of a part of it, by direction, then its rewired
// bonds. Each list begins at a multiple of 32, so that the bonds of a warp belong to one list.
struct BorderBonds {
  std::uint64_t first[kMaxDim + 2]{};  // index of each list's first bond; [dim + 1]: the end
  std::uint64_t
      skip[kMaxDim + 1]{};    // bonds of the replica's list before those of the part (x: rows)
  FastDiv inner[kMaxDim]{};   // sites of a hyperplane below direction k
  FastDiv across[kMaxDim]{};  // borders along direction k
  FastDiv rows;               // along x

  template <int kDim>
  static BorderBonds make(const GraphView& graph, const Tiles& tiles, const Geometry& geometry,
                          const DevicePart& part = {}) {
    BorderBonds borders;
    for (int k = 0; k < kDim; ++k) {
      const std::uint32_t across = k == 0 ? tiles.per_row : tiles.along[k].divisor;
      const std::uint64_t layers = graph.sites / geometry.extent[k];
      std::uint64_t bonds = 0;
      borders.across[k] = FastDiv(across);
      if (k == 0) {
        borders.skip[0] = part.begin(layers);
        borders.rows = FastDiv(static_cast<std::uint32_t>(part.end(layers) - borders.skip[0]));
        bonds = std::uint64_t{borders.rows.divisor} * across;
      } else if (part.overlaps) {  // whole rows of tiles
        const bool slowest = k + 1 == kDim;
        const std::uint64_t items = slowest ? across : layers * across;
        const std::uint64_t each = slowest ? layers : 1;
        borders.skip[k] = each * part.begin(items) / 32 * 32;
        bonds = each * std::min(items, part.end(items) + 1) - borders.skip[k];
      } else {
        const std::uint64_t warps = (layers * across + 31) / 32;
        borders.skip[k] = 32 * part.begin(warps);
        bonds = 32 * part.end(warps) - borders.skip[k];
      }
      borders.inner[k] = FastDiv(geometry.stride[k]);
      borders.first[k + 1] = borders.first[k] + (bonds + 31) / 32 * 32;
    }
    const DevicePart rewired_part = part.overlaps ? DevicePart{} : part;
    borders.skip[kDim] = rewired_part.begin(graph.rewired_count);
    borders.first[kDim + 1] =
        borders.first[kDim] + rewired_part.end(graph.rewired_count) - borders.skip[kDim];
    return borders;
  }

  // For `index` >= first[dim]: the index in GraphView::rewired.
  template <int kDim>
  RW_HD std::uint64_t rewired(std::uint64_t index) const {
    return index - first[kDim] + skip[kDim];
  }
};

// A bond across a border along `direction`, from a to its neighbour b ahead.
struct BorderBond {
  bool exists = false;
  int direction = 0;
  Site a = 0, b = 0;
};

// Returns bond `index` < borders.first[kDim].
template <int kDim>
RW_HD BorderBond border_bond(const Geometry& g, const BorderBonds& borders, std::uint64_t sites,
                             std::uint64_t index) {
  BorderBond bond;
  int& k = bond.direction;
  while (k + 1 < kDim && index >= borders.first[k + 1]) ++k;
  auto number = static_cast<std::uint32_t>(index - borders.first[k]);
  std::uint32_t inner = 0, border = 0, outer = 0;
  if (k == 0) {  // consecutive ones cross the same border
    border = borders.rows.quotient(number);
    outer = number - border * borders.rows.divisor + static_cast<std::uint32_t>(borders.skip[0]);
  } else {
    number += static_cast<std::uint32_t>(borders.skip[k]);
    const std::uint32_t rest = borders.inner[k].quotient(number);
    inner = number - rest * borders.inner[k].divisor;
    outer = borders.across[k].quotient(rest);
    border = rest - outer * borders.across[k].divisor;
  }
  const std::uint64_t width =
      k == 0 ? (kDim < 2 ? kTileSites : kWordSites) : 1u << tile_bits<kDim>(k);
  const std::uint64_t end = (border + 1) * width;
  const std::uint32_t c = (end < g.extent[k] ? static_cast<std::uint32_t>(end) : g.extent[k]) - 1;
  const std::uint64_t base = static_cast<std::uint64_t>(outer) * g.extent[k] * g.stride[k] + inner;
  const std::uint64_t a = base + static_cast<std::uint64_t>(c) * g.stride[k];
  if (border >= borders.across[k].divisor || a >= sites) return bond;
  bond.exists = true;
  bond.a = static_cast<Site>(a);
  bond.b = g.forward(bond.a, c, k);
  return bond;
}

}  // namespace rewise::bytespin

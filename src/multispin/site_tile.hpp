// Tiles by which cluster updates on the device cut a graph: kRows rows of 32 sites along x. In two
// dimensions a tile has 32 x kRows sites, in three 32 x 8 x kRows / 8, in four 32 x 4 x 4 x
// kRows / 16. A chain and an imported graph are cut into rows of 32 sites that follow each other.
// If an extent is not a multiple of the tile's, places of the last tiles are unused.
//
// The place of a site in its tile is x + 32 row. Row j of a tile has coordinate
// (j / stride) % length in direction k >= 1. Extents and numbers of tiles along each direction are
// arguments, [dim], x fastest.
#pragma once

#include <cstdint>

#include "src/base/hd.hpp"

namespace rewise::multispin {

// Sites of a tile of `rows` rows in direction k; two dimensions and more.
RW_HD constexpr std::uint32_t tile_length(int dim, int k, std::uint32_t rows) {
  if (k == 0) return 32;
  if (dim <= 2) return rows;
  if (dim == 3) return k == 1 ? 8 : rows / 8;
  return k < 3 ? 4 : rows / 16;
}

// Tiles in direction k; all tiles of a chain or an imported graph for k = 0.
constexpr std::uint32_t tiles_along(int dim, int k, std::uint64_t extent, std::uint32_t rows) {
  const std::uint64_t length = dim < 2 ? 32 * rows : tile_length(dim, k, rows);
  return static_cast<std::uint32_t>((extent + length - 1) / length);
}

// A site by its tile and its place there.
struct TilePlace {
  std::uint32_t tile, place;
};

// A row of a tile: its first site and its number of sites, 0 beyond the end of the lattice.
struct TileRow {
  std::uint32_t site = 0, count = 0;
};

// The position of a tile.
template <int kDim, std::uint32_t kRows>
struct SiteTile {
  std::uint32_t at[4]{};    // in tiles; one dimension and none: the tile
  std::uint32_t last[4]{};  // the tile's last coordinate in each direction

  static RW_HD constexpr std::uint32_t length(int k) { return tile_length(kDim, k, kRows); }
  // Rows from one row to the next in direction k >= 1.
  static RW_HD constexpr std::uint32_t stride(int k) {
    std::uint32_t rows = 1;
    for (int i = 1; i < k; ++i) rows *= length(i);
    return rows;
  }
  static RW_HD std::uint32_t coordinate(std::uint32_t row, int k) {
    return row / stride(k) % length(k);
  }

  template <class Extents>
  static RW_HD TilePlace place_of(const Extents& extent, const std::uint32_t* along,
                                  std::uint32_t site) {
    if constexpr (kDim <= 1) return {site / (32 * kRows), site % (32 * kRows)};
    TilePlace to{0, 0};
    std::uint32_t tile_stride = 1;
    for (int k = 0; k < kDim; ++k) {
      const std::uint32_t edge = extent[static_cast<unsigned>(k)];
      const std::uint32_t rest = k + 1 < kDim ? site / edge : 0, x = site - rest * edge;
      to.tile += x / length(k) * tile_stride;
      to.place += x % length(k) * (k == 0 ? 1 : 32 * stride(k));
      tile_stride *= along[k];
      site = rest;
    }
    return to;
  }

  template <class Extents>
  RW_HD SiteTile(const Extents& extent, const std::uint32_t* along, std::uint32_t tile) {
    if constexpr (kDim <= 1) {
      at[0] = tile;
    } else {
      for (int k = 0; k < kDim; ++k) {
        at[k] = tile % along[k];
        tile /= along[k];
        const std::uint32_t left = extent[k] - at[k] * length(k);
        last[k] = (left < length(k) ? left : length(k)) - 1;
      }
    }
  }
  template <class Extents>
  RW_HD TileRow row(const Extents& extent, std::uint32_t sites, std::uint32_t j) const {
    if constexpr (kDim <= 1) {
      const std::uint32_t first = 32 * (at[0] * kRows + j);
      const std::uint32_t left = first < sites ? sites - first : 0;
      return {first, left < 32 ? left : 32};
    } else {
      std::uint32_t site = at[0] * 32, site_stride = extent[0];
      bool inside = true;
      for (int k = 1; k < kDim; ++k) {
        const std::uint32_t own = coordinate(j, k);
        inside = inside && own <= last[k];
        site += (at[k] * length(k) + own) * site_stride;
        site_stride *= extent[k];
      }
      return {site, inside ? last[0] + 1 : 0};
    }
  }

  // The next and the previous tile in a direction, and the last coordinate of the latter; two
  // dimensions and more.
  RW_HD std::uint32_t forward(const std::uint32_t* along, int k) const {
    return with(along, k, at[k] + 1 == along[k] ? 0 : at[k] + 1);
  }
  RW_HD std::uint32_t backward(const std::uint32_t* along, int k) const {
    return with(along, k, (at[k] == 0 ? along[k] : at[k]) - 1);
  }
  template <class Extents>
  RW_HD std::uint32_t last_backward(const Extents& extent, int k) const {
    return at[k] == 0 ? (extent[k] - 1) % length(k) : length(k) - 1;
  }

 private:
  // This tile, with coordinate n in direction k.
  RW_HD std::uint32_t with(const std::uint32_t* along, int k, std::uint32_t n) const {
    std::uint32_t tile = 0;
    for (int i = kDim - 1; i >= 0; --i) tile = tile * along[i] + (i == k ? n : at[i]);
    return tile;
  }
};

}  // namespace rewise::multispin

// How Swendsen-Wang updates on the device cut a graph: tiles of 64 rows of 32 sites along x, in two
// dimensions 32 x 64 sites, in three 32 x 8 x 8, in four 32 x 4 x 4 x 4. A chain and an imported
// graph are cut into rows of 32 sites that follow each other.
//
// Place of a site in its tile: 32 row + x; places ascend with the sites, so the smallest place of a
// cluster in a tile is its smallest site there. Sites that a bond may join to another tile, and the
// ends of rewired bonds, are open sites: a cluster with one of them is not known as a whole within
// its tile, and becomes a node of a forest over all tiles. A tile has as many nodes at most as open
// sites, the same for all replicas, so nodes lie dense.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/hd.hpp"
#include "src/bundle/layout.hpp"

namespace rewise::bundle {

inline constexpr std::uint32_t kLabelRows = 64;
inline constexpr std::uint32_t kLabelSites = 32 * kLabelRows;

// Rows of a tile in direction k >= 1.
template <int kDim>
RW_HD constexpr std::uint32_t label_length(int k) {
  if (k == 0) return 32;
  return kDim <= 2 ? kLabelRows : kDim == 3 ? 8 : 4;
}
// From a row to the next in direction k >= 1.
template <int kDim>
RW_HD constexpr std::uint32_t label_stride(int k) {
  std::uint32_t stride = 1;
  for (int i = 1; i < k; ++i) stride *= label_length<kDim>(i);
  return stride;
}

// A tile's row: its first site and how many there are; 0 where the lattice ends before.
struct LabelRow {
  std::uint32_t site = 0, count = 0;
};

// Where a tile lies; `along` tiles in each direction, x fastest.
template <int kDim>
struct LabelTile {
  std::uint32_t at[4]{};    // in tiles; one dimension and none: the tile
  std::uint32_t last[4]{};  // the last coordinate that the tile has, by direction

  template <class Extents>
  RW_HD LabelTile(const Extents& extent, const std::uint32_t* along, std::uint32_t tile) {
    if constexpr (kDim <= 1) {
      at[0] = tile;
    } else {
      for (int k = 0; k < kDim; ++k) {
        at[k] = tile % along[k];
        tile /= along[k];
        const std::uint32_t length = label_length<kDim>(k), left = extent[k] - at[k] * length;
        last[k] = (left < length ? left : length) - 1;
      }
    }
  }
  static RW_HD std::uint32_t coordinate(std::uint32_t row, int k) {
    return row / label_stride<kDim>(k) % label_length<kDim>(k);
  }
  template <class Extents>
  RW_HD LabelRow row(const Extents& extent, std::uint32_t sites, std::uint32_t j) const {
    if constexpr (kDim <= 1) {
      const std::uint32_t first = at[0] * kLabelSites + 32 * j;
      const std::uint32_t left = first < sites ? sites - first : 0;
      return {first, left < 32 ? left : 32};
    } else {
      std::uint32_t site = at[0] * 32, stride = extent[0];
      bool inside = true;
      for (int k = 1; k < kDim; ++k) {
        const std::uint32_t own = coordinate(j, k);
        inside = inside && own <= last[k];
        site += (at[k] * label_length<kDim>(k) + own) * stride;
        stride *= extent[k];
      }
      return {site, inside ? last[0] + 1 : 0};
    }
  }
  // The tile ahead in a direction (two dimensions and more).
  RW_HD std::uint32_t ahead(const std::uint32_t* along, int direction) const {
    std::uint32_t tile = 0;
    for (int k = kDim - 1; k >= 0; --k) {
      const std::uint32_t next = at[k] + 1 == along[k] ? 0 : at[k] + 1;
      tile = tile * along[k] + (k == direction ? next : at[k]);
    }
    return tile;
  }
};

// A rewired bond, or one of an imported graph: for its draw, and where its ends lie.
struct LabelBond {
  std::uint32_t bond;
  Slot a, b;
};
struct LabelEnds {
  std::uint32_t tile_a, tile_b, places;  // places: a's, and b's in the upper half
};

// One graph's.
struct SwendsenWangTiles {
  SwendsenWangTiles(const Graph& graph, const Layout& layout);

  std::uint32_t along[4]{1, 1, 1, 1}, count = 0;
  std::vector<std::uint32_t> bonds;       // [count][dim][64] lattice bonds ahead, bit x
  std::vector<std::uint32_t> open_sites;  // [count][64]
  std::vector<std::uint32_t> node_first;  // [count + 1]
  std::vector<LabelBond> listed;
  std::vector<LabelEnds> ends;  // of the listed bonds
  // Sites with weights (of a bare lattice), tile by tile: place, and the weight in the upper half.
  std::vector<std::uint32_t> weights;
  std::vector<std::uint32_t> weight_first;  // [count + 1]
};

}  // namespace rewise::bundle

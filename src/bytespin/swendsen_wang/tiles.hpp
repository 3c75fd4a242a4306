// Cuts a lattice into tiles of 32 words of up to 64 sites along x, a word for each lane of a warp:
// in two dimensions 64 x 32 sites, in three 64 x 8 x 4, in four 64 x 4 x 4 x 2. A chain and an
// imported graph (one row of all its sites) are cut into 32 consecutive words.
//
// Place of a site in its tile: 64 * lane + x. Places ascend with the sites, so the smallest place
// of a cluster in a tile is its smallest site.
#pragma once

#include <cstdint>

#include "graphs/geometry.hpp"

namespace rewise::bytespin {

inline constexpr std::uint32_t kWordSites = 64;
inline constexpr std::uint32_t kTileLanes = 32;
inline constexpr std::uint32_t kTileSites = kWordSites * kTileLanes;

// Log2 of a tile's extent beyond x, in direction k >= 1.
template <int kDim>
RW_HD constexpr unsigned tile_bits(int k) {
  if (kDim == 2) return k == 1 ? 5 : 0;
  if (kDim == 3) return k == 1 ? 3 : (k == 2 ? 2 : 0);
  if (kDim == 4) return k == 1 ? 2 : (k == 2 ? 2 : (k == 3 ? 1 : 0));
  return 0;
}
// The lane bit where direction k >= 1 starts.
template <int kDim>
RW_HD constexpr unsigned lane_shift(int k) {
  unsigned shift = 0;
  for (int j = 1; j < k; ++j) shift += tile_bits<kDim>(j);
  return shift;
}
// A lane's coordinate in its tile in direction k >= 1.
template <int kDim>
RW_HD std::uint32_t lane_coordinate(std::uint32_t lane, int k) {
  return lane >> lane_shift<kDim>(k) & ((1u << tile_bits<kDim>(k)) - 1);
}

// Calls f.operator()<dim>() for the dimensions of the fast Swendsen-Wang path, two to four.
template <class F>
void with_tiled_dim(int dim, F&& f) {
  with_dim(dim, [&]<int kDim>() {
    if constexpr (kDim >= 2) f.template operator()<kDim>();
  });
}

struct Tiles {
  std::uint32_t length = 0;   // sites of a row
  std::uint32_t per_row = 0;  // tiles along x
  FastDiv along[kMaxDim]{};   // tiles in each direction
  std::uint32_t count = 0;    // per replica

  template <int kDim>
  static Tiles make(const Lattice& lattice, std::uint64_t sites) {
    Tiles tiles;
    tiles.length = kDim > 0 ? lattice.extent[0] : static_cast<std::uint32_t>(sites);
    const std::uint64_t width = kDim < 2 ? kTileSites : kWordSites;
    tiles.per_row = static_cast<std::uint32_t>((tiles.length + width - 1) / width);
    tiles.along[0] = FastDiv(tiles.per_row);
    tiles.count = tiles.per_row;
    for (int k = 1; k < kDim; ++k) {
      const std::uint32_t extent = lattice.extent[static_cast<unsigned>(k)];
      const std::uint32_t across = (extent + (1u << tile_bits<kDim>(k)) - 1) >> tile_bits<kDim>(k);
      tiles.along[k] = FastDiv(across);
      tiles.count *= across;
    }
    return tiles;
  }
};

// The word of a lane in a tile.
struct TileWord {
  Site first = 0;            // its first site
  std::uint32_t count = 0;   // its sites; 0 where the lattice ends before
  bool edge = false;         // at the tile's border beyond x
  std::uint32_t inside = 0;  // bit k: the word ahead in direction k >= 1 is in the tile
};

template <int kDim>
RW_HD TileWord tile_word(const Tiles& tiles, const Geometry& g, std::uint32_t tile,
                         std::uint32_t lane) {
  TileWord word;
  const std::uint32_t rest_x = tiles.along[0].quotient(tile);
  std::uint32_t x = (tile - rest_x * tiles.per_row) * (kDim < 2 ? kTileSites : kWordSites);
  if (kDim < 2) {
    x += lane * kWordSites;
    word.first = x;
    const std::uint32_t left = x < tiles.length ? tiles.length - x : 0;
    word.count = left < kWordSites ? left : kWordSites;
    return word;
  }
  word.first = x;
  bool valid = true;
  std::uint32_t rest = rest_x;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int k = 1; k < kDim; ++k) {
    const std::uint32_t next = k + 1 < kDim ? tiles.along[k].quotient(rest) : 0;
    const std::uint32_t corner = (rest - next * tiles.along[k].divisor) << tile_bits<kDim>(k);
    const std::uint32_t offset = lane_coordinate<kDim>(lane, k);
    const std::uint32_t c = corner + offset;
    valid = valid && c < g.extent[k];
    word.first += c * g.stride[k];
    const bool last = offset + 1 == 1u << tile_bits<kDim>(k) || c + 1 == g.extent[k];
    word.inside |= (last ? 0u : 1u) << k;
    word.edge = word.edge || last || offset == 0;
    rest = next;
  }
  const std::uint32_t left = tiles.length - x;
  word.count = valid ? (left < kWordSites ? left : kWordSites) : 0;
  return word;
}

// Returns the site at a place of the tile that contains `site`.
template <int kDim>
RW_HD Site site_at(const Geometry& g, Site site, std::uint32_t place) {
  if (kDim < 2) return (site & ~(kTileSites - 1)) + place;
  std::uint32_t c[kDim > 0 ? kDim : 1];
  g.coordinates<kDim>(site, c);
  Site at = site - (c[0] & (kWordSites - 1)) + (place & (kWordSites - 1));
  const std::uint32_t lane = place / kWordSites;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int k = 1; k < kDim; ++k) {
    const std::uint32_t offset = c[k] & ((1u << tile_bits<kDim>(k)) - 1);
    at += (lane_coordinate<kDim>(lane, k) - offset) * g.stride[k];
  }
  return at;
}

// The tile and place of a site.
struct SiteInTile {
  std::uint32_t tile, place;
};

template <int kDim>
RW_HD SiteInTile site_in_tile(const Tiles& tiles, const Geometry& g, Site site) {
  if (kDim < 2) return {site / kTileSites, site % kTileSites};
  std::uint32_t c[kDim > 0 ? kDim : 1];
  g.coordinates<kDim>(site, c);
  std::uint32_t tile = 0, lane = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int k = kDim - 1; k > 0; --k) {
    tile = tile * tiles.along[k].divisor + (c[k] >> tile_bits<kDim>(k));
    lane |= (c[k] & ((1u << tile_bits<kDim>(k)) - 1)) << lane_shift<kDim>(k);
  }
  return {tile * tiles.per_row + c[0] / kWordSites, lane * kWordSites + c[0] % kWordSites};
}

}  // namespace rewise::bytespin

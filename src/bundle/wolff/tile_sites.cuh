// Where the tiles of wolff_tiles.hpp and their sites lie, on the device.
#pragma once

#include "src/bundle/wolff/wolff_dense_cuda.hpp"

namespace rewise::bundle::device {

// Rows of a tile: row j has coordinate (j / stride) % length along direction k >= 1.
template <int kDim>
struct TileShape {
  static constexpr unsigned length(int k) {
    if (kDim <= 2) return 32;
    if (kDim == 3) return k == 1 ? 8 : 4;
    return k == 3 ? 2 : 4;
  }
  static constexpr unsigned stride(int k) {
    unsigned s = 1;
    for (int i = 1; i < k; ++i) s *= length(i);
    return s;
  }
  // Row f of the tile's face at coordinate 0 of direction k, f < 32 / length(k).
  static __device__ __forceinline__ unsigned face_row(int k, unsigned f) {
    return f / stride(k) * stride(k) * length(k) + f % stride(k);
  }
};

// Where a tile lies on its lattice (two dimensions and more).
template <int kDim>
struct TileAt {
  std::uint32_t at[4], along[4], extent[4];

  __device__ __forceinline__ TileAt(const DeviceTiles& g, std::uint32_t tile)
      : along{g.along0, g.along1, g.along2, g.along3},
        extent{g.lattice.extent0, g.lattice.extent1, g.lattice.extent2, g.lattice.extent3} {
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
      at[k] = tile % along[k];
      tile /= along[k];
    }
  }
  static __device__ __forceinline__ unsigned length(int k) {
    return k == 0 ? 32u : TileShape<kDim>::length(k);
  }
  // The last coordinate within the tile that lies n along direction k.
  __device__ __forceinline__ unsigned last(int k, std::uint32_t n) const {
    return n + 1 == along[k] ? (extent[k] - 1) % length(k) : length(k) - 1;
  }
  __device__ __forceinline__ std::uint32_t ahead(int k) const {
    return at[k] + 1 == along[k] ? 0 : at[k] + 1;
  }
  __device__ __forceinline__ std::uint32_t behind(int k) const {
    return at[k] == 0 ? along[k] - 1 : at[k] - 1;
  }
  __device__ __forceinline__ std::uint32_t tile_with(int k, std::uint32_t n) const {
    std::uint32_t tile = 0;
#pragma unroll
    for (int i = kDim - 1; i >= 0; --i) tile = tile * along[i] + (i == k ? n : at[i]);
    return tile;
  }
};

// The sites of a tile: row j, lane x.
template <int kDim>
struct TileSites {
  const DeviceLattice& lattice;
  std::uint32_t
      first[4]{};  // coordinates of the tile's first site; one dimension and none: its number

  __device__ __forceinline__ TileSites(const DeviceTiles& g, std::uint32_t tile)
      : lattice(g.lattice) {
    if constexpr (kDim <= 1) {
      first[0] = tile * kTileSites;
    } else {
      const TileAt<kDim> at(g, tile);
#pragma unroll
      for (int k = 0; k < kDim; ++k) first[k] = at.at[k] * TileAt<kDim>::length(k);
    }
  }
  // False where the tile has no site there.
  __device__ __forceinline__ bool find(unsigned j, unsigned x, std::uint32_t& site,
                                       std::uint32_t& slot) const {
    std::uint32_t next[4];
    return find(j, x, site, slot, next);
  }
  // Also the slots of the neighbours ahead, by direction.
  __device__ __forceinline__ bool find(unsigned j, unsigned x, std::uint32_t& site,
                                       std::uint32_t& slot, std::uint32_t (&ahead)[4]) const {
    if constexpr (kDim <= 1) {
      site = first[0] + j * 32 + x;
      slot = lattice.colour_base[kDim == 0 ? 0 : site & 1u] + (kDim == 0 ? site : site / 2);
      const std::uint32_t next = site + 1 == lattice.sites ? 0 : site + 1;
      ahead[0] = lattice.colour_base[next & 1u] + next / 2;
      return site < lattice.sites;
    } else {
      const std::uint32_t extent[4] = {lattice.extent0, lattice.extent1, lattice.extent2,
                                       lattice.extent3};
      std::uint32_t step[4], colour = 0, stride = 1;
      bool inside = true;
      site = 0;
#pragma unroll
      for (int k = 0; k < kDim; ++k) {
        const unsigned own =
            k == 0 ? x : j / TileShape<kDim>::stride(k) % TileShape<kDim>::length(k);
        const std::uint32_t at = first[k] + own;
        inside = inside && at < extent[k];
        site += at * stride;
        colour += at;
        step[k] = at + 1 == extent[k] ? stride - stride * extent[k] : stride;
        stride *= extent[k];
      }
      slot = lattice.colour_base[colour & 1u] + site / 2;
#pragma unroll
      for (int k = 0; k < kDim; ++k) {
        ahead[k] = lattice.colour_base[~colour & 1u] + (site + step[k]) / 2;
      }
      return inside;
    }
  }
};

}  // namespace rewise::bundle::device

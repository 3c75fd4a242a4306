// The root of a site's cluster once tiles are labelled and joined (swendsen_wang_cuda.hpp).
#pragma once

#include "src/cuda/forest.cuh"
#include "src/single/swendsen_wang/labels.cuh"

namespace rewise::single::device {

// The tile that a site lies in.
template <int kDim>
__device__ __forceinline__ std::uint32_t tile_of(const DeviceLabels& labels, Site site) {
  if (kDim < 2) return site / kTileSites;
  std::uint32_t c[kDim > 0 ? kDim : 1];
  labels.geometry.coordinates<kDim>(site, c);
  std::uint32_t tile = 0;
#pragma unroll
  for (int k = kDim - 1; k > 0; --k) {
    tile = tile * labels.tiles.along[k].divisor + (c[k] >> tile_bits<kDim>(k));
  }
  return tile * labels.tiles.per_row + c[0] / kWordSites;
}

struct SiteRoot {
  Site root;
  std::uint32_t tile, place;  // of the site; the place of its root in that tile
  bool open;                  // else the cluster lies in the tile
};

// In the lattice's forest where the cluster of the site's tile is open, in the tile where it is
// closed.
template <int kDim>
__device__ __forceinline__ SiteRoot site_root(const DeviceLabels& labels,
                                              const SystemLabels& system, Site site) {
  const std::uint32_t place = system.place[site], tile = tile_of<kDim>(labels, site);
  const Site root = site_at<kDim>(labels.geometry, site, place);
  const std::uint64_t nodes = system.nodes[std::size_t{tile} * kTileLanes + place / kWordSites];
  const bool open = (nodes >> place % kWordSites & 1u) != 0;
  return {open ? ParentForest{system.parent}.find(root) : root, tile, place, open};
}

}  // namespace rewise::single::device

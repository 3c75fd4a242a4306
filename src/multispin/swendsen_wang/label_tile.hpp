// The tiles by which Swendsen-Wang updates on the device cut a graph (swendsen_wang_cuda.hpp): 64
// rows of 32 sites along x, in two dimensions 32 x 64 sites, in three 32 x 8 x 8, in four
// 32 x 4 x 4 x 4. A chain and an imported graph are cut into rows of 32 sites that follow each
// other.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/base/hd.hpp"

namespace rewise::multispin {

inline constexpr std::uint32_t kLabelRows = 64;
inline constexpr std::uint32_t kLabelTileSites = 32 * kLabelRows;

// Sites of a tile in direction k; two dimensions and more.
RW_HD constexpr std::uint32_t label_tile_length(int dim, int k) {
  if (k == 0) return 32;
  return dim <= 2 ? kLabelRows : dim == 3 ? 8 : 4;
}

// Tiles in direction k; all of a chain or an imported graph for k = 0.
constexpr std::uint32_t label_tiles(int dim, int k, std::uint64_t extent) {
  const std::uint64_t length = dim < 2 ? kLabelTileSites : label_tile_length(dim, k);
  return static_cast<std::uint32_t>((extent + length - 1) / length);
}

// Sums over pairs of clusters (cluster_pairs_cuda.hpp): bytes per site of a pair of replicas, and
// the number of pairs whose tables are in use at a time, at least one. Their tiles fill a device
// several times.
inline constexpr std::uint64_t kPairSlotBytes = 20, kPairSites = 1u << 24;
constexpr std::uint64_t pairs_at_once(std::uint64_t sites, std::uint64_t pairs) {
  return std::clamp<std::uint64_t>(kPairSites / sites, 1, pairs);
}

}  // namespace rewise::multispin

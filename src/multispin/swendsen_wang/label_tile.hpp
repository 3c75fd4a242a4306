// The tiles of Swendsen-Wang updates on the device (swendsen_wang_cuda.hpp), and the memory of sums
// over pairs of clusters.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/multispin/site_tile.hpp"

namespace rewise::multispin {

inline constexpr std::uint32_t kLabelRows = 64;
inline constexpr std::uint32_t kLabelTileSites = 32 * kLabelRows;

RW_HD constexpr std::uint32_t label_tile_length(int dim, int k) {
  return tile_length(dim, k, kLabelRows);
}

// Sums over pairs of clusters (cluster_pairs_cuda.hpp): bytes per site of a pair of replicas, and
// the number of pairs whose tables are in use at a time, at least one. Their tiles fill a device
// several times.
inline constexpr std::uint64_t kPairSlotBytes = 20, kPairSites = 1u << 24;
constexpr std::uint64_t pairs_at_once(std::uint64_t sites, std::uint64_t pairs) {
  return std::clamp<std::uint64_t>(kPairSites / sites, 1, pairs);
}

}  // namespace rewise::multispin

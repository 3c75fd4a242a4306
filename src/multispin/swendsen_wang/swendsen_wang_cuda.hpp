// Swendsen-Wang updates of word groups on the device, for any range of word groups of several
// graphs at a time. swendsen_wang.hpp defines the update; the results are equal bit for bit.
//
//   1 draw    a block processes a tile of a word group (DeviceLabelTiles): open bonds and random
//             bits as words of 32 replicas, which warps transpose into words of 32 sites
//   2 label   a warp labels a tile of one replica in shared memory. A cluster that no open bond
//             leaves is closed: its size is final. The others become nodes of a forest over all
//             tiles
//   3 join    bonds between tiles, then rewired bonds, join that forest by compare-and-swap
//   4 roots   every node copies the key of its root and adds its size to the root's
//   5 flip    a block processes a tile of a word group: sites flip by their clusters' keys; the
//             flips are transposed back into words of 32 replicas and added to the spins; sums over
//             clusters
//
// Steps 3 and 4 process replica after replica, so that the labels and forests in use stay in the
// second-level cache. Those of all replicas of a word group would not fit.
//
// Weights of sites (on a bare lattice) are summed over each tile's clusters in step 2 and over the
// nodes in step 4; step 5 sums over clusters. Sums over pairs of clusters follow step 4
// (cluster_pairs_cuda.hpp).
//
// Houdayer moves (swendsen_wang.hpp) use the same steps: step 1 opens the bonds between equal
// products of two spins, steps 2 to 5 process the first replica of each couple, and both replicas
// get its flips. The sums over clusters are then meaningless.
//
// In a field (rules.hpp) a Swendsen-Wang update also draws the sites that are bound to the ghost
// spin. Step 2 clears the random bit of a cluster with a bound site. A node with one has a key
// without kFree and with random bit 0, so that it comes before all other nodes. A Houdayer move
// clears the random bits of the sites where the two replicas have equal spins.
//
// A node's key is its smallest site and, in the lowest bit, that site's random bit. A root is
// attached to a root with a smaller key, so the key of the final root decides the flip of its whole
// cluster.
//
// Memory traffic in bytes per site and replica: (dim + 1) / 4 for open bonds and flips (written and
// read), 4 for labels, 3/8 for spins, and some 12 per node; in total 6 in two dimensions.
// Instructions of a warp per tile of 2048 sites (H200, 3D, p = 0.1, near Tc): label 7100, others
// some 7000 (tests/bench/RESULTS.md).
#pragma once

#include <cstdint>
#include <vector>

#include <cuda_runtime_api.h>

#include "src/base/hd.hpp"
#include "src/model/partners.hpp"
#include "src/multispin/bonds_cuda.hpp"
#include "src/multispin/device_layout.hpp"
#include "src/multispin/layout.hpp"
#include "src/multispin/rules.hpp"
#include "src/multispin/swendsen_wang/label_tile.hpp"

namespace rewise::multispin {

// Place of a site in its tile: 32 row + x. Places ascend with the sites, so the smallest place of a
// cluster in a tile is its smallest site there. Open sites are the sites that an open bond joins to
// another tile, and the ends of open rewired bonds. A cluster with an open site may extend beyond
// its tile and becomes a node of a forest over all tiles. Nodes are stored tile by tile; a tile has
// room for one node per site that may be open.

template <int kDim>
RW_HD constexpr std::uint32_t label_tile_length(int k) {
  return label_tile_length(kDim, k);
}
// Rows from one row to the next in direction k >= 1.
template <int kDim>
RW_HD constexpr std::uint32_t label_stride(int k) {
  std::uint32_t stride = 1;
  for (int i = 1; i < k; ++i) stride *= label_tile_length<kDim>(i);
  return stride;
}

// A row of a tile: its first site and its number of sites, 0 beyond the end of the lattice.
struct LabelRow {
  std::uint32_t site = 0, count = 0;
};

// The position of a tile among `along` tiles in each direction, x fastest.
template <int kDim>
struct LabelTile {
  std::uint32_t at[4]{};    // in tiles; one dimension and none: the tile
  std::uint32_t last[4]{};  // the tile's last coordinate in each direction

  template <class Extents>
  RW_HD LabelTile(const Extents& extent, const std::uint32_t* along, std::uint32_t tile) {
    if constexpr (kDim <= 1) {
      at[0] = tile;
    } else {
      for (int k = 0; k < kDim; ++k) {
        at[k] = tile % along[k];
        tile /= along[k];
        const std::uint32_t length = label_tile_length<kDim>(k), left = extent[k] - at[k] * length;
        last[k] = (left < length ? left : length) - 1;
      }
    }
  }
  static RW_HD std::uint32_t coordinate(std::uint32_t row, int k) {
    return row / label_stride<kDim>(k) % label_tile_length<kDim>(k);
  }
  template <class Extents>
  RW_HD LabelRow row(const Extents& extent, std::uint32_t sites, std::uint32_t j) const {
    if constexpr (kDim <= 1) {
      const std::uint32_t first = at[0] * kLabelTileSites + 32 * j;
      const std::uint32_t left = first < sites ? sites - first : 0;
      return {first, left < 32 ? left : 32};
    } else {
      std::uint32_t site = at[0] * 32, stride = extent[0];
      bool inside = true;
      for (int k = 1; k < kDim; ++k) {
        const std::uint32_t own = coordinate(j, k);
        inside = inside && own <= last[k];
        site += (at[k] * label_tile_length<kDim>(k) + own) * stride;
        stride *= extent[k];
      }
      return {site, inside ? last[0] + 1 : 0};
    }
  }
  // The next tile in a direction (two dimensions and more).
  RW_HD std::uint32_t ahead(const std::uint32_t* along, int direction) const {
    std::uint32_t tile = 0;
    for (int k = kDim - 1; k >= 0; --k) {
      const std::uint32_t next = at[k] + 1 == along[k] ? 0 : at[k] + 1;
      tile = tile * along[k] + (k == direction ? next : at[k]);
    }
    return tile;
  }
};

// A rewired bond, or one of an imported graph: its number and slots for the draw, and its ends.
struct LabelBond {
  std::uint32_t bond;
  Slot a, b;  // a | kNegative
};
struct ListedBondEnds {
  std::uint32_t tile_a, tile_b, places;  // place of a; place of b in the upper half
};
// An end of a listed bond in the list of a tile.
struct TileBondEnd {
  std::uint32_t listed, place;
};

// Tile and place of a site.
struct TilePlace {
  std::uint32_t tile, place;
};
template <int kDim>
RW_HD TilePlace label_spot(const Lattice& lattice, const std::uint32_t* along, Site site) {
  if (kDim <= 1) return {site / kLabelTileSites, site % kLabelTileSites};
  TilePlace spot{0, 0};
  std::uint32_t tile_stride = 1;
  for (int k = 0; k < kDim; ++k) {
    const std::uint32_t extent = lattice.extent[static_cast<unsigned>(k)];
    const std::uint32_t rest = k + 1 < kDim ? site / extent : 0;
    const std::uint32_t length = label_tile_length<kDim>(k), at = site - rest * extent;
    spot.tile += at / length * tile_stride;
    spot.place += at % length * (k == 0 ? 1 : 32 * label_stride<kDim>(k));
    tile_stride *= along[k];
    site = rest;
  }
  return spot;
}

// The tiles of a range of graphs of one geometry. Pointers are to device memory.
struct DeviceLabelTiles {
  DeviceLattice lattice;
  DeviceSeeds seeds;              // of the runs
  std::uint32_t word_groups = 0;  // of each graph
  std::uint32_t along[4]{1, 1, 1, 1};
  std::uint32_t count = 0;                        // tiles
  std::uint32_t nodes_most = 0, listed_most = 0;  // maximum over the graphs
  const std::uint32_t* bonds = nullptr;           // [graphs][count][dim][64] existing bonds, bit x
  const std::uint32_t* negative = nullptr;        // likewise J = -1; null if all couplings are 1
  const std::uint32_t* node_first = nullptr;      // [graphs][count + 1] room for nodes
  const std::uint32_t* listed_count = nullptr;    // [graphs]
  const LabelBond* listed = nullptr;              // [graphs][listed_most]
  const ListedBondEnds* ends = nullptr;           // likewise
  const TileBondEnd* tile_ends = nullptr;         // [graphs][2 listed_most] tile by tile
  const std::uint32_t* ends_first = nullptr;      // [graphs][count + 1]
  // Sites with weights (of a bare lattice), tile by tile: place, and the weight in the upper half.
  std::uint32_t weights_most = 0;
  const std::uint32_t* weight_first = nullptr;  // [graphs][count + 1]
  const std::uint32_t* weights = nullptr;       // [graphs][weights_most]
};

// Input and output of launch_label_tables(), which makes all of these arrays except the weights.
struct LabelTables {
  DeviceBonds bonds;
  std::uint32_t along[4]{1, 1, 1, 1}, count = 0;
  std::uint32_t* bond_words = nullptr;
  std::uint32_t* negative = nullptr;  // null if it is not needed
  std::uint32_t* node_first = nullptr;
  LabelBond* listed = nullptr;
  ListedBondEnds* ends = nullptr;
  TileBondEnd* tile_ends = nullptr;
  std::uint32_t* ends_first = nullptr;
  std::uint32_t* nodes = nullptr;   // [graphs] maximum number of nodes
  std::uint32_t* open = nullptr;    // [graphs][count][64] scratch, zero: sites that may be open
  std::uint32_t* cursor = nullptr;  // [graphs][count] scratch, zero
};
void launch_label_tables(const LabelTables& g, cudaStream_t stream);

// A site's label is the place of its cluster's first site in the tile or, if the cluster is a node,
// the node's number in the tile plus this bit.
inline constexpr std::uint32_t kNodeLabel = kLabelTileSites;

// Masks of a tile: open bonds by direction, then random bits. With listed bonds also the sites that
// have an open listed bond, in a field also the sites that are bound to the ghost spin.
RW_HD constexpr std::uint32_t masks_per_tile(int dim, bool listed, bool in_field) {
  return static_cast<std::uint32_t>(dim) + (listed ? 2 : 1) + (in_field ? 1 : 0);
}
// In a field: set in the keys of nodes that are not bound. Sites are below 2^30.
inline constexpr std::uint32_t kFree = 1u << 31;

// Sums over the clusters of an update.
struct LabelSums {
  unsigned long long square, fourth_low, fourth_high, cross, weight_square;
};

// One update of word groups [first, first + word_groups), numbered through all graphs. [word
// groups] and [items] count from `first`. Item = word group * count + tile.
struct LabelArgs {
  const std::uint32_t* first_step = nullptr;  // on the device; the step is *first_step + step
  std::uint32_t step = 0;
  const std::uint32_t* threshold = nullptr;  // [all word groups] of bonds; probability below 1
  const GhostBonds* ghost = nullptr;         // [all word groups]; null: no field
  std::uint32_t first = 0, word_groups = 0;
  bool houdayer = false;  // Houdayer moves; `threshold` is not used
  bool signs = false;     // couplings may be -1; Houdayer moves do not depend on signs
  int vec = 1;
  std::uint32_t* spins = nullptr;              // all word groups, as in device_layout.hpp
  std::uint32_t* masks = nullptr;              // [items][masks_per_tile()][32 replicas][64]
  std::uint16_t* label = nullptr;              // [items][32][2048]
  std::uint32_t* nodes = nullptr;              // [items][32] number of nodes
  std::uint32_t* parent = nullptr;             // [word groups][32][nodes_most]
  std::uint32_t* key = nullptr;                // likewise
  std::uint32_t* size = nullptr;               // likewise
  std::uint32_t* weight = nullptr;             // likewise; null without weights
  std::uint32_t* listed_open = nullptr;        // [word groups][listed_most] replicas
  LabelSums* sums = nullptr;                   // [word groups][32] zero between updates
  unsigned long long* square = nullptr;        // [all replicas] += sum n^2
  unsigned long long* quartic_low = nullptr;   // [all replicas] += 3 (sum n^2)^2 - 2 sum n^4
  unsigned long long* quartic_high = nullptr;  // likewise
  // [all replicas] += sum n w, += sum w^2, w a cluster's weight; null without weights.
  unsigned long long *cross = nullptr, *weight_square = nullptr;
};

// The replicas of a word group that steps 2 to 4 process are numbered 0 .. labelled_replicas() - 1.
RW_HD constexpr std::uint32_t labelled_replicas(bool houdayer) {
  return houdayer ? couples_of(kReplicas) : kReplicas;
}
RW_HD constexpr std::uint32_t label_replica(bool houdayer, std::uint32_t number) {
  return houdayer ? first_of_couple(number) : number;
}

struct DeviceClusterPairs;  // cluster_pairs_cuda.hpp

// If `pairs` is not null, also computes sums over pairs of clusters.
void launch_swendsen_wang(const DeviceLabelTiles& g, const LabelArgs& run,
                          const DeviceClusterPairs* pairs, cudaStream_t stream);

}  // namespace rewise::multispin

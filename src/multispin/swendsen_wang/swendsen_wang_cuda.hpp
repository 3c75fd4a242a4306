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
// products of two spins, steps 2 to 5 process the first replica of each Houdayer pair, and both
// replicas get its flips. The sums over clusters are then meaningless.
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
#include "src/multispin/layout.hpp"
#include "src/multispin/layout_cuda.hpp"
#include "src/multispin/rules.hpp"
#include "src/multispin/swendsen_wang/label_tile.hpp"

namespace rewise::multispin {

// Places ascend with the sites, so the smallest place of a cluster in a tile is its smallest site
// there. Open sites are the sites that an open bond joins to another tile, and the ends of open
// rewired bonds. A cluster with an open site may extend beyond its tile and becomes a node of a
// forest over all tiles. Nodes are stored tile by tile; a tile has room for one node per site that
// may be open.
template <int kDim>
using LabelTile = SiteTile<kDim, kLabelRows>;

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

// The tiles of a range of graphs of one geometry. Pointers are to device memory.
struct DeviceLabelTiles {
  DeviceLattice lattice;
  DeviceSeeds seeds;              // of the runs
  std::uint32_t word_groups = 0;  // of each graph
  std::uint32_t along[4]{1, 1, 1, 1};
  std::uint32_t count = 0;                        // tiles
  std::uint32_t nodes_most = 0, listed_most = 0;  // maximum over the graphs
  std::uint32_t* bonds = nullptr;                 // [graphs][count][dim][64] existing bonds, bit x
  std::uint32_t* negative = nullptr;              // likewise J = -1; null if all couplings are 1
  std::uint32_t* node_first = nullptr;            // [graphs][count + 1] room for nodes
  const std::uint32_t* listed_count = nullptr;    // [graphs]
  LabelBond* listed = nullptr;                    // [graphs][listed_most]
  ListedBondEnds* ends = nullptr;                 // likewise
  TileBondEnd* tile_ends = nullptr;               // [graphs][2 listed_most] tile by tile
  std::uint32_t* ends_first = nullptr;            // [graphs][count + 1]
  // Sites with weights (of a bare lattice), tile by tile: place, and the weight in the upper half.
  std::uint32_t weights_most = 0;
  const std::uint32_t* weight_first = nullptr;  // [graphs][count + 1]
  const std::uint32_t* weights = nullptr;       // [graphs][weights_most]
};

// The input of launch_label_tables(), which fills the arrays of `tiles` except the weights and
// listed_count.
struct LabelTables {
  DeviceBonds bonds;
  DeviceLabelTiles tiles;
  std::uint32_t* nodes = nullptr;   // output: [graphs] maximum number of nodes
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
  std::uint32_t* spins = nullptr;              // all word groups, as in layout_cuda.hpp
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
  return houdayer ? houdayer_pairs(kReplicas) : kReplicas;
}
RW_HD constexpr std::uint32_t label_replica(bool houdayer, std::uint32_t number) {
  return houdayer ? first_of_houdayer_pair(number) : number;
}

// The steps of an update, in this order.
void launch_bond_draws(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream);
void launch_tile_labels(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream);
void launch_tile_joins(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream);
void launch_node_roots(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream);
void launch_label_flips(const DeviceLabelTiles& g, const LabelArgs& run, cudaStream_t stream);

}  // namespace rewise::multispin

// Swendsen-Wang updates of bundles on the device (swendsen_wang.hpp says what an update is; same
// bits), any set of bundles of a row of graphs at a time:
//
//   1 draw    a block takes a tile of a bundle (swendsen_wang_tiles.hpp): open bonds and random
//             bits of 32 replicas a word, turned by the warps into 32 sites a word per replica
//   2 label   a warp labels a tile of one replica in shared memory. A cluster without open sites is
//             closed: its size is final. The others become nodes of a forest over all tiles
//   3 join    bonds between tiles, then rewired bonds, join that forest by compare-and-swap
//   4 settle  every node learns its root and its key, the root its cluster's size
//   5 flip    a block takes a tile of a bundle: sites follow their nodes, 32 replicas are turned
//             back into a word and added to the spins; sums over clusters
//
// Steps 3 and 4 go replica by replica: the labels and the forest of the few that are at work then
// stay in the second-level cache, where those of all replicas of a bundle would not fit.
//
// Where sites have weights (those of a bare lattice), step 2 adds them up over each tile's
// clusters, step 4 over the nodes, step 5 takes the sums: two more reads of a label per site with a
// weight.
//
// A node's key is its smallest site and, below, that site's random bit; a root is hung under a root
// with a smaller key, so that the last root's key decides the flip of its whole cluster.
//
// Bytes per site and replica: open bonds and flips (dim + 1) / 4, written and read, labels 4, spins
// 3/8, nodes some 12 per open cluster: 6 in two dimensions. Instructions of a warp per tile of 2048
// sites (H200, p = 0.01, Tc): draw 1400, label 8700, join 1400, settle 600, flip 2100: 7 per site.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "src/bundle/device_layout.hpp"
#include "src/bundle/swendsen_wang/swendsen_wang_tiles.hpp"

namespace rewise::bundle {

// The SwendsenWangTiles of a range of graphs of one geometry; pointers are on the device.
struct DeviceLabelTiles {
  DeviceLattice lattice;
  DeviceSeeds seeds;          // of the runs
  std::uint32_t bundles = 0;  // of each graph
  std::uint32_t along[4]{1, 1, 1, 1};
  std::uint32_t count = 0;                        // tiles
  std::uint32_t nodes_most = 0, listed_most = 0;  // of a graph, at most
  const std::uint32_t* bonds = nullptr;           // [graphs][count][dim][64]
  const std::uint32_t* open_sites = nullptr;      // [graphs][count][64]
  const std::uint32_t* node_first = nullptr;      // [graphs][count + 1]
  const std::uint32_t* listed_count = nullptr;    // [graphs]
  const LabelBond* listed = nullptr;              // [graphs][listed_most]
  const LabelEnds* ends = nullptr;                // likewise
  std::uint32_t weights_most = 0;
  const std::uint32_t* weight_first = nullptr;  // [graphs][count + 1]
  const std::uint32_t* weights = nullptr;       // [graphs][weights_most]
};

// The nodes of a tile's row: bit x, a node's smallest place; nodes of the tile's earlier rows.
struct LabelRank {
  std::uint32_t nodes, before;
};

// Sums over the clusters of an update.
struct LabelSums {
  unsigned long long square, fourth_low, fourth_high, cross, weight_square;
};

// One update of bundles [first, first + bundles) of those of all the graphs in a row; the first of
// them has number 0 in what is said to be of these bundles. Item = bundle * count + tile.
struct DeviceLabelRun {
  const std::uint32_t* first_step = nullptr;  // on the device; this is step *first_step + step
  std::uint32_t step = 0;
  const std::uint32_t* threshold = nullptr;  // [all bundles] of bonds, below certainty
  std::uint32_t first = 0, bundles = 0;
  int vec = 1;
  std::uint32_t* spins = nullptr;        // all bundles, as in device_layout.hpp
  std::uint32_t* masks = nullptr;        // [items][dim + 1][32 replicas][64]; the last: random bits
  std::uint16_t* label = nullptr;        // [items][32][2048] place of the site's root in its tile
  LabelRank* rank = nullptr;             // [items][32][64]
  std::uint32_t* parent = nullptr;       // [bundles][32][nodes_most]
  std::uint32_t* key = nullptr;          // likewise
  std::uint32_t* size = nullptr;         // likewise
  std::uint32_t* weight = nullptr;       // likewise; none where no graph has weights
  std::uint32_t* listed_open = nullptr;  // [bundles][listed_most] replicas
  LabelSums* sums = nullptr;             // [bundles][32] zero between updates
  unsigned long long* square = nullptr;  // [all replicas] += sum n^2
  unsigned long long* quartic_low = nullptr;   // [all replicas] += 3 (sum n^2)^2 - 2 sum n^4
  unsigned long long* quartic_high = nullptr;  // likewise
  // [all replicas] += sum n w, += sum w^2, w a cluster's weight; none without weights.
  unsigned long long *cross = nullptr, *weight_square = nullptr;
};

void launch_swendsen_wang(const DeviceLabelTiles& g, const DeviceLabelRun& run,
                          cudaStream_t stream);

// Its steps.
void launch_label_draw(const DeviceLabelTiles& g, const DeviceLabelRun& run, cudaStream_t stream);
void launch_label_tiles(const DeviceLabelTiles& g, const DeviceLabelRun& run, cudaStream_t stream);
void launch_label_join(const DeviceLabelTiles& g, const DeviceLabelRun& run, cudaStream_t stream);
void launch_label_settle(const DeviceLabelTiles& g, const DeviceLabelRun& run, cudaStream_t stream);
void launch_label_flip(const DeviceLabelTiles& g, const DeviceLabelRun& run, cudaStream_t stream);

}  // namespace rewise::bundle

// Dense Wolff updates on the device (wolff.hpp says what they do; same bits as the sparse ones):
// all 32 replicas of a word group at once, any set of word groups of a row of graphs, each at its
// own step.
//
//   begin  finds the seeds, marks them reached and queues their tiles
//   draw   decides for every lattice bond and listed bond in which replicas the clusters may cross
//          it: drawn, and both ends carry the seed's spin
//   grow   a warp takes a tile (WolffTiles) off a queue, pulls what its neighbours have
//   reached
//          and what came over its listed bonds, closes the tile, and queues those that gain from
//          it; ends when no tile is queued or at work. At its first visit a tile opens every bond
//          whose ends are joined by the other three of a plaquette, which makes paths straight:
//          half as many rounds of closure, and the same clusters
//   flip   flips what was reached, counts it, leaves reached words and states zero
//
// A tile's words are written only by the warp that holds the tile; others read them at any time and
// may see older ones. That loses nothing: growth is monotone, and whoever writes looks afterwards
// whether a neighbour lacks something, and queues it.
// Memory per word group: (1 + dim) 4 bytes per site of all tiles, 12 per end. Cost: draw about 2.3
// Philox calls per bond of 32 replicas; grow 4 (2 + dim) bytes per site and visit of a tile, and
// 4 shared-memory accesses and 8 logical instructions per site and round of its closure.
#pragma once

#include <cstdint>
#include <vector>

#include <cuda_runtime_api.h>

#include "graphs/graph.hpp"
#include "src/multispin/device_layout.hpp"
#include "src/multispin/layout.hpp"

namespace rewise::multispin {

// How the dense form of the Wolff update lays a graph out on a device : tiles
// of 1024 sites, 32 along x by 32 rows, which one warp closes by itself, and a list of the bonds
// that are no bonds between lattice neighbours.
//
// A tile is 32, 32 x 32, 32 x 8 x 4 or 32 x 4 x 4 x 2 sites; in one dimension, and on graphs
// without a lattice, it is 1024 sites in order, seen as 32 rows of 32. Lattices whose extents are
// no multiples of a tile's leave sites of their last tiles unused. Local number of a site: x + 32
// row. Listed are the rewired bonds (on graphs without a lattice: all) and, in one dimension, the
// lattice's bonds between tiles. A listed bond within a tile has one end, others have one in each
// tile; the ends of a tile follow one another, those within the tile first.
// Memory: 4 dim bytes per row of 32 sites, 32 to 44 per listed bond.
inline constexpr std::uint32_t kTileSites = 1024;

struct TileEnd {
  std::uint32_t near_far;  // local numbers: near | far << 10
  std::uint32_t far_tile;
  std::uint32_t far_end;  // where the far end is filed
};

struct ListedBond {
  std::uint32_t bond;
  Slot a, b;
  std::uint32_t end_a, end_b;  // where its ends are filed; the same for a bond within a tile
};

struct WolffTiles {
  WolffTiles() = default;
  WolffTiles(const Graph& graph, const Layout& layout);

  // Sites of a tile along each direction.
  static std::uint32_t length(int dim, int direction);

  std::uint32_t along[kMaxDim]{1, 1, 1, 1};  // tiles
  std::uint32_t count = 0;                   // of tiles
  std::vector<std::uint32_t> bonds;  // [count][dim][32 rows] bit x: the bond of this site exists
  std::vector<std::uint32_t> end_first;  // [2 count + 1] per tile: its inner ends, its outer ends
  std::vector<TileEnd> end;
  std::vector<ListedBond> listed;
};

// The WolffTiles of a range of graphs of one geometry; pointers are on the device.
struct DeviceTiles {
  DeviceLattice lattice;
  DeviceSeeds seeds;              // of the runs
  std::uint32_t word_groups = 0;  // of each graph
  std::uint32_t along0 = 1, along1 = 1, along2 = 1, along3 = 1;
  std::uint32_t count = 0;                      // tiles
  std::uint32_t listed_most = 0, ends = 0;      // of a graph, at most
  const std::uint32_t* bonds = nullptr;         // [graphs][count][dim][32]
  const std::uint32_t* end_first = nullptr;     // [graphs][2 count + 1]
  const TileEnd* end = nullptr;                 // [graphs][ends]
  const std::uint32_t* listed_count = nullptr;  // [graphs]
  const ListedBond* listed = nullptr;           // [graphs][listed_most]
};

// Tiles that wait for a visit: a ring of item numbers, each at most once in it.
struct DeviceTileQueue {
  std::uint32_t* entry = nullptr;  // [mask + 1] item + 1, or 0
  std::uint32_t mask = 0;
  std::uint32_t* head = nullptr;             // tickets given to takers
  unsigned long long* added_done = nullptr;  // entries added, and visits done in the upper half
};

// One update of word groups [first, first + word groups) of those of all the graphs in a row; the
// first of them has number 0 in what is said to be of these word groups. Item = word group * count
// + tile.
struct DeviceDenseRun {
  const std::uint32_t* first_step =
      nullptr;  // on the device; the update is step *first_step + step
  std::uint32_t step = 0;
  const std::uint32_t* active = nullptr;     // [all word groups] replicas that take part; null: all
  const std::uint32_t* threshold = nullptr;  // [all word groups] below certainty
  std::uint32_t first = 0, word_groups = 0;  // first is a multiple of few_of(vec)
  int vec = 1;
  std::uint32_t* spins = nullptr;      // all word groups, as in device_layout.hpp
  std::uint32_t* seed_spin = nullptr;  // [word groups]
  std::uint32_t* reached = nullptr;    // [items][32 rows][32], zero between updates
  std::uint32_t* open = nullptr;       // [word groups][dim][count][1024]; direction 0 by columns
  std::uint32_t* edge = nullptr;       // [items][first, last column][32 rows] of reached
  std::uint32_t* open_end = nullptr;   // [word groups][ends]
  std::uint32_t* sent = nullptr;       // [word groups][ends] what was let through this end
  std::uint32_t* mail = nullptr;       // [word groups][ends] what came in by it
  std::uint32_t* state = nullptr;      // [items], zero between updates
  DeviceTileQueue queue;
  unsigned grow_blocks = 1;               // resident at a time: dense_grow_blocks()
  unsigned long long* flipped = nullptr;  // [all replicas] += flipped sites
};

// Blocks of growth that the current device holds at a time; not while work is captured.
unsigned dense_grow_blocks(int dim);

void launch_dense_wolff(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream);

// The four steps of it.
void launch_dense_begin(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream);
void launch_dense_draw(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream);
void launch_dense_grow(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream);
void launch_dense_flip(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream);

}  // namespace rewise::multispin

// Dense Wolff updates on the device (wolff.hpp) of all 32 replicas of a word group at once. The
// results equal those of the sparse form bit for bit. A launch covers consecutive word groups of
// one or several graphs, and in each the replicas of a mask.
//
//   begin  determines the seeds, marks them as reached and queues their tiles.
//   draw   determines, for every lattice bond and every listed bond, the replicas in which the bond
//          is open: it is drawn, and both ends have the spin of the seed (with couplings: it is
//          drawn and satisfied).
//   grow   A warp takes a tile (WolffTiles) from a queue, adds the sites that are reached from
//          neighbouring tiles and over listed bonds, propagates within the tile to the fixed point,
//          and queues the tiles that can be reached from it. Growth ends when no tile is queued or
//          in progress.
//          The first visit to a tile opens every bond whose ends are joined by the other three
//          bonds of a plaquette. That makes paths straighter and halves the number of rounds; the
//          clusters remain the same.
//   keep   in a field: finds the clusters that are bound to the ghost spin (rules.hpp).
//   flip   flips and counts the reached spins, except for those clusters, and clears the reached
//          sets and the tile states.
//
// The words of a tile are written only by the warp that holds the tile. Other warps may read them
// at any time and may see old values. No gain is lost: reached sets only grow, and a warp that has
// written a tile then checks its neighbours and queues those that lack a site.
//
// Memory per word group: 4 (1 + dim) bytes per site of all tiles and 12 per end of a listed bond.
// Cost: draw needs about 2.3 Philox calls per bond and 32 replicas; grow moves 4 (2 + dim) bytes
// per site and visit of a tile, and makes 4 accesses to shared memory and 8 logical instructions
// per site and round.
#pragma once

#include <cstdint>
#include <vector>

#include <cuda_runtime_api.h>

#include "graphs/graph.hpp"
#include "src/multispin/layout.hpp"
#include "src/multispin/layout_cuda.hpp"
#include "src/multispin/rules.hpp"
#include "src/multispin/site_tile.hpp"

namespace rewise::multispin {

// The layout of a graph for dense Wolff updates on a device: tiles of 1024 sites (32 rows of 32
// sites along x, site_tile.hpp), each of which one warp can process alone, and a list of the other
// bonds. The local number of a site is its place in the tile.
//
// Listed bonds are the rewired bonds, all bonds of a graph without a lattice, and, in one
// dimension, the lattice bonds between tiles. A listed bond within a tile is stored as one end,
// other listed bonds as one end in each of two tiles. The ends of a tile are consecutive; ends of
// bonds within the tile come first. Memory: 4 dim bytes per row of 32 sites, 32 to 44 per listed
// bond.
inline constexpr std::uint32_t kTileRows = 32, kTileSites = 32 * kTileRows;
template <int kDim>
using DenseTile = SiteTile<kDim, kTileRows>;

struct TileEnd {
  std::uint32_t near_far;  // local numbers: near | far << 10
  std::uint32_t far_tile;
  std::uint32_t far_end;  // index of the far end
};

struct ListedBond {
  std::uint32_t bond;
  Slot a, b;                   // a | kNegative
  std::uint32_t end_a, end_b;  // indices of its ends; equal for a bond within a tile
};

struct WolffTiles {
  WolffTiles() = default;
  WolffTiles(const Graph& graph, const Layout& layout);

  std::uint32_t along[kMaxDim]{1, 1, 1, 1};  // number of tiles along each direction
  std::uint32_t count = 0;                   // number of tiles
  std::vector<std::uint32_t> bonds;     // [count][dim][32 rows] bit x: the bond of this site exists
  std::vector<std::uint32_t> negative;  // likewise J = -1; empty if all couplings are 1
  // [2 count + 1] per tile: first end of a bond within the tile, first end of other bonds
  std::vector<std::uint32_t> end_first;
  std::vector<TileEnd> end;
  std::vector<ListedBond> listed;
};

// WolffTiles of a range of graphs of the same geometry. Pointers are to device memory.
struct DeviceTiles {
  DeviceLattice lattice;
  DeviceSeeds seeds;              // random seeds of the tasks
  std::uint32_t word_groups = 0;  // of each graph
  std::uint32_t along[kMaxDim]{1, 1, 1, 1};
  std::uint32_t count = 0;                      // number of tiles
  std::uint32_t listed_most = 0, ends = 0;      // largest numbers of listed bonds and of ends
  const std::uint32_t* bonds = nullptr;         // [graphs][count][dim][32]
  const std::uint32_t* negative = nullptr;      // likewise; null if there is none
  bool signs = false;                           // couplings may be -1
  const std::uint32_t* end_first = nullptr;     // [graphs][2 count + 1]
  const TileEnd* end = nullptr;                 // [graphs][ends]
  const std::uint32_t* listed_count = nullptr;  // [graphs]
  const ListedBond* listed = nullptr;           // [graphs][listed_most]
};

// The queue of tiles to be visited: a ring buffer that contains each item at most once.
struct DeviceTileQueue {
  std::uint32_t* entry = nullptr;  // [mask + 1] item + 1, or 0
  std::uint32_t mask = 0;
  std::uint32_t* head = nullptr;             // number of tickets drawn by warps
  unsigned long long* added_done = nullptr;  // lower half: entries added; upper half: visits done
};

// One update of word groups, in either form. Arrays have an entry for each word group of a range of
// graphs, or of the whole batch.
struct WolffRun {
  const std::uint32_t* first_step = nullptr;  // on the device; the step is *first_step + step
  std::uint32_t step = 0;
  // Bits of the replicas that the dense form updates; null: all.
  const std::uint32_t* active = nullptr;
  const std::uint32_t* threshold = nullptr;  // of bonds; probability below 1
  const GhostBonds* ghost = nullptr;         // null: no field
  std::uint32_t* spins = nullptr;            // as in layout_cuda.hpp
  unsigned long long* flipped = nullptr;     // [replicas] += flipped sites

  // The update of a part that begins with this word group, whose words begin at `word`.
  WolffRun from(std::size_t word_group, std::size_t word) const {
    WolffRun part = *this;
    if (active != nullptr) part.active += word_group;
    part.threshold += word_group;
    if (ghost != nullptr) part.ghost += word_group;
    part.spins += word;
    part.flipped += word_group * kReplicas;
    return part;
  }
};

// A dense update of word groups [first, first + word_groups), numbered through all graphs. Arrays
// of size [word groups] contain these word groups only, and start with `first`. An item is a tile
// of a word group: item = (word group - first) * count + tile.
struct DenseWolffArgs : WolffRun {
  std::uint32_t first = 0, word_groups = 0;  // first is a multiple of few_of(vec)
  int vec = 1;
  std::uint32_t* seed_spin = nullptr;  // [word groups]
  std::uint32_t* bound = nullptr;      // [word groups] replicas whose cluster is bound
  std::uint32_t* reached = nullptr;    // [items][32 rows][32], zero between updates
  // [word groups][dim][count][1024] replicas in which lattice bonds are open; direction 0 is stored
  // by columns
  std::uint32_t* open = nullptr;
  std::uint32_t* edge = nullptr;      // [items][2][32 rows] first and last column of `reached`
  std::uint32_t* open_end = nullptr;  // [word groups][ends] replicas in which the bond is open
  std::uint32_t* sent = nullptr;      // [word groups][ends] replicas that crossed from this end
  std::uint32_t* mail = nullptr;      // [word groups][ends] replicas that arrived at this end
  std::uint32_t* state = nullptr;     // [items], zero between updates
  DeviceTileQueue queue;
  unsigned grow_blocks = 1;  // dense_grow_blocks()
};

// The number of blocks of the growth kernel that are resident on the current device. Must not be
// called during stream capture.
unsigned dense_grow_blocks(int dim);

// Makes a complete update: the steps below.
void launch_dense_wolff(const DeviceTiles& g, const DenseWolffArgs& run, cudaStream_t stream);

void launch_dense_begin(const DeviceTiles& g, const DenseWolffArgs& run, cudaStream_t stream);
void launch_dense_draw(const DeviceTiles& g, const DenseWolffArgs& run, cudaStream_t stream);
void launch_dense_grow(const DeviceTiles& g, const DenseWolffArgs& run, cudaStream_t stream);
void launch_dense_keep(const DeviceTiles& g, const DenseWolffArgs& run, cudaStream_t stream);
void launch_dense_flip(const DeviceTiles& g, const DenseWolffArgs& run, cudaStream_t stream);

}  // namespace rewise::multispin

// Dense Wolff updates on the device (wolff.hpp says what they do; same bits as the sparse ones):
// all 32 replicas of a bundle at once, any set of bundles, each at its own step.
//
//   begin  finds the seeds, marks them reached and queues their tiles
//   draw   decides for every lattice bond and listed bond in which replicas the clusters may cross
//          it: drawn, and both ends carry the seed's spin
//   grow   a warp takes a tile (wolff_tiles.hpp) off a queue, pulls what its neighbours and the far
//          ends of its listed bonds have reached, closes the tile, and queues those that gain from
//          it; ends when no tile is queued or at work
//   flip   flips what was reached, counts it, leaves reached words and states zero
//
// A tile's words are written only by the warp that holds the tile; others read them at any time and
// may see older ones. That loses nothing: growth is monotone, and whoever writes looks afterwards
// whether a neighbour lacks something, and queues it.
// Memory per bundle: (1 + dim) 4 bytes per site of all tiles, 4 per end. Cost: draw about 2.3
// Philox calls per bond of 32 replicas; grow 4 (2 + dim) bytes per site and visit of a tile, and
// 4 shared-memory accesses and 8 logical instructions per site and round of its closure.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "src/bundle/device_layout.hpp"
#include "src/bundle/wolff_tiles.hpp"

namespace rewise::bundle {

// WolffTiles on the device; pointers are on the device.
struct DeviceTiles {
  DeviceLattice lattice;
  std::uint32_t along0 = 1, along1 = 1, along2 = 1, along3 = 1;
  std::uint32_t count = 0;
  std::uint32_t listed_count = 0, ends = 0;
  const std::uint32_t* bonds = nullptr;      // [count][dim][32]
  const std::uint32_t* end_first = nullptr;  // [2 count + 1]
  const TileEnd* end = nullptr;              // [ends]
  const ListedBond* listed = nullptr;        // [listed_count]
};

// Tiles that wait for a visit: a ring of item numbers, each at most once in it.
struct DeviceTileQueue {
  std::uint32_t* entry = nullptr;  // [mask + 1] item + 1, or 0
  std::uint32_t mask = 0;
  std::uint32_t* head = nullptr;  // each counter on a line of its own
  std::uint32_t* tail = nullptr;
  std::uint32_t* busy = nullptr;  // tiles queued or at work
};

// One update of a range of bundles. Item = (bundle - first) * count + tile.
struct DeviceDenseRun {
  std::uint64_t seed = 0;
  std::uint32_t step = 0;                    // of every bundle, unless steps says otherwise
  const std::uint32_t* steps = nullptr;      // [all bundles] or null
  const std::uint32_t* active = nullptr;     // [all bundles] replicas that take part; null: all
  const std::uint32_t* threshold = nullptr;  // [all bundles] below certainty
  std::uint32_t first = 0, bundles = 0;      // the range; first is a multiple of vec
  int vec = 1;
  std::uint32_t* spins = nullptr;      // all bundles, as in device_layout.hpp
  std::uint32_t* seed_spin = nullptr;  // [bundles]
  std::uint32_t* reached = nullptr;    // [items][32 rows][32], zero between updates
  std::uint32_t* open = nullptr;       // [bundles][dim][count][1024]; direction 0 by columns
  std::uint32_t* open_end = nullptr;   // [bundles][ends]
  std::uint32_t* state = nullptr;      // [items], zero between updates
  DeviceTileQueue queue;
  unsigned long long* flipped = nullptr;  // [all replicas] += flipped sites
};

void launch_dense_wolff(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream);

// The four steps of it.
void launch_dense_begin(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream);
void launch_dense_draw(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream);
void launch_dense_grow(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream);
void launch_dense_flip(const DeviceTiles& g, const DeviceDenseRun& run, cudaStream_t stream);

}  // namespace rewise::bundle

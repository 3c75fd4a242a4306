// How the dense form of the Wolff update lays a graph out on a device (wolff_dense_cuda.hpp): tiles
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
#pragma once

#include <cstdint>
#include <vector>

#include "graphs/graph.hpp"
#include "src/bundle/layout.hpp"

namespace rewise::bundle {

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

}  // namespace rewise::bundle

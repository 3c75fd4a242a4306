// Labelling within a tile (Weigel 2011, section II.2), on CPU and CUDA. A lattice is cut into boxes
// of a common edge; the last ones may be smaller. Sites have an index in their tile, x fastest. The
// order is that of the lattice, so the smallest index of a cluster is that of its smallest site.
//
// Each site of a tile has one byte. Bit k is set if the bond to the site whose index is larger by
// step[k] is occupied and stays within the tile. Sites outside of the lattice have no bonds.
//
// Weigel uses edges of 4 to 64 on square lattices.
#pragma once

#include <cstdint>

#include "graphs/geometry.hpp"

namespace rewise::papers {

inline constexpr std::uint32_t kUnlabelled = 0xFFFFFFFFu;

struct LabelTiles {
  std::uint32_t edge[kMaxDim]{1, 1, 1, 1};  // of a tile, at most the lattice's extents
  std::uint32_t step[kMaxDim]{1, 1, 1, 1};  // of the index, in each direction
  FastDiv width[kMaxDim]{};                 // edges
  FastDiv along[kMaxDim]{};                 // tiles in each direction
  std::uint32_t sites = 1;                  // of a tile
  std::uint32_t count = 1;                  // tiles of a replica

  // Shared memory of a CUDA block holds 4096 sites.
  static constexpr std::uint32_t most_on_cuda(int dim) { return dim < 3 ? 64 : dim == 3 ? 16 : 8; }

  static LabelTiles make(const Geometry& g, int dim, std::uint32_t asked, std::uint32_t most) {
    LabelTiles tiles;
    for (int k = 0; k < dim; ++k) {
      const std::uint32_t edge = asked < most ? asked : most;
      tiles.edge[k] = edge < g.extent[k] ? edge : g.extent[k];
      tiles.step[k] = tiles.sites;
      tiles.width[k] = FastDiv(tiles.edge[k]);
      const std::uint32_t across = g.extent[k] / tiles.edge[k];
      tiles.along[k] = FastDiv(across + (g.extent[k] % tiles.edge[k] != 0 ? 1 : 0));
      tiles.sites *= tiles.edge[k];
      tiles.count *= tiles.along[k].divisor;
    }
    return tiles;
  }
};

// Coordinates of the first site of a tile.
struct TileCorner {
  std::uint32_t at[kMaxDim]{};
};

template <int kDim>
RW_HD TileCorner tile_corner(const LabelTiles& tiles, std::uint32_t tile) {
  TileCorner corner;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int k = 0; k < kDim; ++k) {
    const std::uint32_t rest = k + 1 < kDim ? tiles.along[k].quotient(tile) : 0;
    corner.at[k] = (tile - rest * tiles.along[k].divisor) * tiles.edge[k];
    tile = rest;
  }
  return corner;
}

// The site at an index of a tile.
struct TileSite {
  Site site = 0;
  bool valid = true;         // in the lattice
  std::uint32_t inside = 0;  // bit k: the next site in direction k is in the tile and the lattice
};

template <int kDim>
RW_HD TileSite tile_site(const LabelTiles& tiles, const Geometry& g, const TileCorner& corner,
                         std::uint32_t index) {
  TileSite out;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int k = 0; k < kDim; ++k) {
    const std::uint32_t rest = k + 1 < kDim ? tiles.width[k].quotient(index) : 0;
    const std::uint32_t offset = index - rest * tiles.edge[k];
    const std::uint32_t c = corner.at[k] + offset;
    out.site += c * g.stride[k];
    out.valid = out.valid && c < g.extent[k];
    if (offset + 1 < tiles.edge[k] && c + 1 < g.extent[k]) out.inside |= 1u << k;
    index = rest;
  }
  return out;
}

// Lowers a word that threads of a block share. Returns true if it was larger.
RW_HD bool lower(std::uint32_t* at, std::uint32_t to) {
#if defined(__CUDA_ARCH__)
  return atomicMin(at, to) > to;
#else
  const bool larger = *at > to;
  if (larger) *at = to;
  return larger;
#endif
}

// Breadth-first search (II.2.1) by one thread, from every site without a label, in order. `label`
// starts as kUnlabelled everywhere. queue: [sites].
template <int kDim>
RW_HD void search_tile(const LabelTiles& tiles, const std::uint8_t* bonds, std::uint32_t* label,
                       std::uint32_t* queue) {
  for (std::uint32_t seed = 0; seed < tiles.sites; ++seed) {
    if (label[seed] != kUnlabelled) continue;
    std::uint32_t head = 0, tail = 0;
    const auto reach = [&](std::uint32_t index) {
      if (label[index] != kUnlabelled) return;
      label[index] = seed;
      queue[tail++] = index;
    };
    reach(seed);
    while (head < tail) {
      const std::uint32_t index = queue[head++];
      const std::uint32_t ahead = bonds[index];
      for (int k = 0; k < kDim; ++k) {
        const std::uint32_t step = tiles.step[k];
        if ((ahead >> k & 1u) != 0) reach(index + step);
        if (index >= step && (bonds[index - step] >> k & 1u) != 0) reach(index - step);
      }
    }
  }
}

// Union-find (II.2.2): the smaller tree is attached to the larger; paths are not compressed.
// tree[index] is the parent or, at a root, kRoot plus the number of its sites.
inline constexpr std::uint32_t kRoot = 1u << 31;

RW_HD std::uint32_t tile_root(const std::uint32_t* tree, std::uint32_t index) {
  for (std::uint32_t up = tree[index]; up < kRoot; up = tree[index]) index = up;
  return index;
}

// By one thread. `tree` starts as kRoot + 1 everywhere.
template <int kDim>
RW_HD void unite_tile(const LabelTiles& tiles, const std::uint8_t* bonds, std::uint32_t* tree) {
  for (std::uint32_t index = 0; index < tiles.sites; ++index) {
    for (int k = 0; k < kDim; ++k) {
      if ((bonds[index] >> k & 1u) == 0) continue;
      const std::uint32_t a = tile_root(tree, index), b = tile_root(tree, index + tiles.step[k]);
      if (a == b) continue;
      const std::uint32_t large = tree[a] < tree[b] ? b : a, small = large == a ? b : a;
      tree[large] += tree[small] - kRoot;
      tree[small] = large;
    }
  }
}

// Self-labelling (II.2.3), one pass over the sites of a thread: both ends of a bond get the
// smaller of their labels. Labels start as the indices. Returns true if a label changed.
template <int kDim>
RW_HD bool relabel_tile(const LabelTiles& tiles, const std::uint8_t* bonds, std::uint32_t* label,
                        std::uint32_t thread, std::uint32_t threads) {
  bool changed = false;
  for (std::uint32_t index = thread; index < tiles.sites; index += threads) {
    const std::uint32_t ahead = bonds[index];
    for (int k = 0; k < kDim; ++k) {
      if ((ahead >> k & 1u) == 0) continue;
      volatile std::uint32_t* here = label + index;
      volatile std::uint32_t* there = here + tiles.step[k];
      const std::uint32_t a = *here, b = *there;
      if (a < b) changed = lower(label + index + tiles.step[k], a) || changed;
      if (b < a) changed = lower(label + index, b) || changed;
    }
  }
  return changed;
}

}  // namespace rewise::papers

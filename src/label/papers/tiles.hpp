// Labelling within tiles (Weigel 2011, section II.2). A tile is a box of the lattice, of edge B or
// what is left of it; its sites are numbered x fastest, so that their order is that of the lattice
// and the smallest site of a tile is the smallest of the lattice.
//
// In a tile a site holds one byte: bit k says that the bond to its neighbour at +1 in direction k
// is occupied and does not leave the tile. So the neighbour is `stride[k]` further on, whatever the
// place, and a bond from behind is found in the byte `stride[k]` before.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/label/configuration.hpp"
#include "src/label/method.hpp"

namespace rewise {

class TileLabeller {
 public:
  TileLabeller(const Lattice& lattice, std::uint32_t edge);

  // label[site] becomes the smallest site that it is joined with inside its tile.
  void run(const BondConfiguration& configuration, TileMethod method, std::span<Site> label);

 private:
  // Reads the tile that starts at a site; its coordinates there.
  void read(const BondConfiguration& configuration, const std::uint32_t* origin);
  void write(std::span<Site> label) const;
  void breadth_first();
  void union_find();
  void self_label();
  std::uint32_t root(std::uint32_t at) const {
    while (label_[at] != at) at = label_[at];
    return at;
  }
  void unite(std::uint32_t a, std::uint32_t b);

  Lattice lattice_;
  std::uint32_t edge_;
  std::uint32_t lattice_stride_[kMaxDim];
  // Of the tile at hand:
  std::uint32_t extent_[kMaxDim], stride_[kMaxDim];
  std::uint32_t count_ = 0;
  std::vector<Site> rows_;            // [rows] first site of a row in the lattice
  std::vector<std::uint8_t> ahead_;   // [count]
  std::vector<std::uint32_t> label_;  // [count] place in the tile
  std::vector<std::uint32_t> other_;  // [count] queue, or sizes of trees
};

}  // namespace rewise

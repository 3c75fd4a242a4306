// The papers' methods on the CPU, serially: labels within tiles, their consolidation, and label
// equivalence over the whole lattice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/label/configuration.hpp"
#include "src/label/method.hpp"
#include "src/label/papers/tiles.hpp"

namespace rewise::papers {

// Labels tiles one after the other (tiles.hpp).
class ConfigurationTileLabeller {
 public:
  ConfigurationTileLabeller(const Lattice& lattice, std::uint32_t edge);

  // Sets label[site] to the smallest site that is joined to it within its tile.
  void run(const BondConfiguration& configuration, TileMethod method, std::span<Site> label);

 private:
  template <int kDim>
  void read(const BondConfiguration& configuration, const TileCorner& corner);
  template <int kDim>
  void label_tile(TileMethod method);

  int dim_;
  Geometry geometry_;
  LabelTiles tiles_;
  // The current tile:
  std::vector<TileSite> sites_;       // [sites]
  std::vector<std::uint8_t> bonds_;   // [sites]
  std::vector<std::uint32_t> label_;  // [sites] index in the tile
  std::vector<std::uint32_t> other_;  // [sites] queue, or the root of a tree
};

// Consolidation of tiles (Weigel 2011, section II.3). On entry label[site] is the smallest site
// joined to it within its tile, on return the smallest site of its component.
//
// Label relaxation, section II.3.1: lists the roots at both ends of every bond between tiles once,
// then sets both labels to the smaller one, pass by pass, until no label changes. Returns the
// number of passes. `roots` is work space.
std::uint64_t relax_tiles(const BondConfiguration& configuration, std::uint32_t edge,
                          std::span<Site> label, std::vector<SitePair>& roots);

// Hierarchical sewing, section II.3.2: level n inserts the bonds between tiles of edge 2^n B into
// balanced trees of labels; periodic (wrapping) bonds and extra bonds come last. `size` is work
// space, [sites].
void sew_tiles(const BondConfiguration& configuration, std::uint32_t edge, std::span<Site> label,
               std::span<std::uint32_t> size);

// Label equivalence on the whole lattice: records labels that a bond joins as equal and resolves
// chains of equal labels, until no bond joins two labels. The number of iterations grows slowly
// with the size of components (8.6 at L = 4096 and Tc: Komura & Okabe 2013).
//
// Hawick, Leist & Playne 2010: scanning stores the smaller label in an array of references,
// analysis resolves it, labelling copies the labels from it. `reference` is work space, [sites].
void label_by_equivalence(const BondConfiguration& configuration, std::span<Site> label,
                          std::span<Site> reference);

// Kalentev et al. 2011: two kernels; the label array itself holds the references.
void label_by_kalentev(const BondConfiguration& configuration, std::span<Site> label);

}  // namespace rewise::papers

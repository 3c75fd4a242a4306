#include <algorithm>
#include <numeric>

#include "src/label/papers/cpu.hpp"

namespace rewise::papers {

ConfigurationTileLabeller::ConfigurationTileLabeller(const Lattice& lattice, std::uint32_t edge)
    : dim_(lattice.dim),
      geometry_(Geometry::make(lattice)),
      tiles_(LabelTiles::make(geometry_, lattice.dim, edge, kMaxTile)),
      sites_(tiles_.sites),
      bonds_(tiles_.sites),
      label_(tiles_.sites),
      other_(tiles_.sites) {}

void ConfigurationTileLabeller::run(const BondConfiguration& configuration, TileMethod method,
                                    std::span<Site> label) {
  with_lattice_dim(dim_, [&]<int kDim>() {
    for (std::uint32_t tile = 0; tile < tiles_.count; ++tile) {
      read<kDim>(configuration, tile_corner<kDim>(tiles_, tile));
      label_tile<kDim>(method);
      for (std::uint32_t index = 0; index < tiles_.sites; ++index) {
        if (sites_[index].valid) label[sites_[index].site] = sites_[label_[index]].site;
      }
    }
  });
}

template <int kDim>
void ConfigurationTileLabeller::read(const BondConfiguration& configuration,
                                     const TileCorner& corner) {
  for (std::uint32_t index = 0; index < tiles_.sites; ++index) {
    const TileSite at = tile_site<kDim>(tiles_, geometry_, corner, index);
    std::uint32_t ahead = 0;
    for (int k = 0; k < kDim && at.valid; ++k) {
      ahead |= std::uint32_t{configuration.occupied(at.site, k)} << k;
    }
    sites_[index] = at;
    bonds_[index] = static_cast<std::uint8_t>(ahead & at.inside);
  }
}

template <int kDim>
void ConfigurationTileLabeller::label_tile(TileMethod method) {
  std::uint32_t* const label = label_.data();
  switch (method) {
    case TileMethod::bfs:
      std::fill_n(label, tiles_.sites, kUnlabelled);
      return search_tile<kDim>(tiles_, bonds_.data(), label, other_.data());
    case TileMethod::union_find:
      std::fill_n(label, tiles_.sites, kRoot + 1);
      unite_tile<kDim>(tiles_, bonds_.data(), label);
      for (std::uint32_t index = 0; index < tiles_.sites; ++index) {
        other_[index] = tile_root(label, index);
      }
      std::fill_n(label, tiles_.sites, kUnlabelled);  // at roots: the smallest index of the tree
      for (std::uint32_t index = 0; index < tiles_.sites; ++index) {
        lower(label + other_[index], index);
      }
      for (std::uint32_t index = 0; index < tiles_.sites; ++index) {
        label[index] = label[other_[index]];
      }
      return;
    case TileMethod::self_label:
      std::iota(label, label + tiles_.sites, 0u);
      while (relabel_tile<kDim>(tiles_, bonds_.data(), label, 0, 1)) continue;
      return;
  }
}

}  // namespace rewise::papers

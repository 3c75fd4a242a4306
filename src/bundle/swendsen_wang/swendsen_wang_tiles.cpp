#include "src/bundle/swendsen_wang/swendsen_wang_tiles.hpp"

#include <bit>
#include <numeric>

namespace rewise::bundle {
namespace {

struct Spot {
  std::uint32_t tile, place;
};

// Tile and place of a site.
template <int kDim>
Spot spot_of(const Lattice& lattice, const SwendsenWangTiles& tiles, Site site) {
  if (kDim <= 1) return {site / kLabelSites, site % kLabelSites};
  Spot spot{0, 0};
  std::uint32_t tile_stride = 1;
  for (int k = 0; k < kDim; ++k) {
    const std::uint32_t length = label_length<kDim>(k), at = lattice.coordinate(site, k);
    spot.tile += at / length * tile_stride;
    spot.place += at % length * (k == 0 ? 1 : 32 * label_stride<kDim>(k));
    tile_stride *= tiles.along[k];
  }
  return spot;
}

template <int kDim>
void cut(const Graph& graph, const Layout& layout, SwendsenWangTiles& tiles) {
  const Lattice& lattice = layout.lattice;
  tiles.count = 1;
  for (unsigned k = 0; k < (kDim < 2 ? 1 : kDim); ++k) {
    const std::uint64_t length = kDim < 2 ? kLabelSites : label_length<kDim>(static_cast<int>(k));
    const std::uint64_t extent = kDim < 2 ? layout.sites : lattice.extent[k];
    tiles.along[k] = static_cast<std::uint32_t>((extent + length - 1) / length);
    tiles.count *= tiles.along[k];
  }
  tiles.bonds.assign(std::size_t{tiles.count} * kDim * kLabelRows, 0);
  tiles.open_sites.assign(std::size_t{tiles.count} * kLabelRows, 0);
  const auto bond_word = [&](const Spot& at, int k) -> std::uint32_t& {
    return tiles.bonds[(std::size_t{at.tile} * kDim + static_cast<unsigned>(k)) * kLabelRows +
                       at.place / 32];
  };
  const auto open = [&](const Spot& at) {
    tiles.open_sites[std::size_t{at.tile} * kLabelRows + at.place / 32] |= 1u << at.place % 32;
  };
  auto removed = layout.removed.bond.begin();
  for (std::uint64_t s = 0; kDim > 0 && s < layout.sites; ++s) {
    const auto site = static_cast<Site>(s);
    const Spot here = spot_of<kDim>(lattice, tiles, site);
    for (int k = 0; k < kDim; ++k) {
      if (removed != layout.removed.bond.end() && *removed == s * kDim + static_cast<unsigned>(k)) {
        ++removed;
        continue;
      }
      bond_word(here, k) |= 1u << here.place % 32;
      const Site next = lattice.forward(site, k);
      const Spot there = spot_of<kDim>(lattice, tiles, next);
      // Within a tile places ascend; around a lattice of one tile they do not.
      if (there.tile == here.tile && next > site) continue;
      open(here);
      open(there);
    }
  }
  for (const RewiredBond& r : graph.rewired_bonds()) {
    const Spot a = spot_of<kDim>(lattice, tiles, r.a), b = spot_of<kDim>(lattice, tiles, r.b);
    open(a);
    open(b);
    tiles.listed.push_back(
        {static_cast<std::uint32_t>(r.bond), layout.slot(r.a), layout.slot(r.b)});
    tiles.ends.push_back({a.tile, b.tile, a.place | b.place << 16});
  }
  tiles.weight_first.assign(tiles.count + 1, 0);
  tiles.weights.resize(graph.weights().size());
  for (const SiteWeight& w : graph.weights()) {
    ++tiles.weight_first[spot_of<kDim>(lattice, tiles, w.site).tile + 1];
  }
  std::partial_sum(tiles.weight_first.begin(), tiles.weight_first.end(),
                   tiles.weight_first.begin());
  std::vector<std::uint32_t> next = tiles.weight_first;
  for (const SiteWeight& w : graph.weights()) {
    const Spot at = spot_of<kDim>(lattice, tiles, w.site);
    tiles.weights[next[at.tile]++] = at.place | w.weight << 16;
  }
}

}  // namespace

SwendsenWangTiles::SwendsenWangTiles(const Graph& graph, const Layout& layout) {
  switch (layout.lattice.dim) {
    case 0:
      cut<0>(graph, layout, *this);
      break;
    case 1:
      cut<1>(graph, layout, *this);
      break;
    case 2:
      cut<2>(graph, layout, *this);
      break;
    case 3:
      cut<3>(graph, layout, *this);
      break;
    default:
      cut<4>(graph, layout, *this);
  }
  std::uint32_t nodes = 0;
  for (std::size_t tile = 0; tile < count; ++tile) {
    node_first.push_back(nodes);
    for (std::size_t row = 0; row < kLabelRows; ++row) {
      nodes += static_cast<std::uint32_t>(std::popcount(open_sites[tile * kLabelRows + row]));
    }
  }
  node_first.push_back(nodes);
}

}  // namespace rewise::bundle

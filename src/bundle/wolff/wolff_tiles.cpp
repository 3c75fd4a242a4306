// WolffTiles (wolff_dense_cuda.hpp) of a graph.

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.hpp"
#include "src/bundle/wolff/wolff_dense_cuda.hpp"

namespace rewise::bundle {
namespace {

struct Place {
  std::uint32_t tile, local;
};

Place place_of(const WolffTiles& tiles, const Lattice& lattice, Site site) {
  if (lattice.dim <= 1) return {site / kTileSites, site % kTileSites};
  std::uint32_t tile = 0, tile_stride = 1, local = 0, local_stride = 1;
  for (int k = 0; k < lattice.dim; ++k) {
    const std::uint32_t at = lattice.coordinate(site, k);
    const std::uint32_t length = WolffTiles::length(lattice.dim, k);
    tile += at / length * tile_stride;
    local += at % length * local_stride;
    tile_stride *= tiles.along[k];
    local_stride *= length;
  }
  return {tile, local};
}

struct Pair {
  std::uint32_t bond;
  Site a, b;
};

// Marks the lattice's bonds; those that a tile cannot see by itself are returned.
std::vector<Pair> lay_lattice_bonds(const Graph& graph, WolffTiles& tiles) {
  const Lattice& lattice = graph.lattice();
  const auto dim = static_cast<unsigned>(lattice.dim);
  tiles.bonds.assign(std::size_t{tiles.count} * dim * 32, 0);
  const auto word = [&](const Place& at, unsigned k) -> std::uint32_t& {
    return tiles.bonds[(std::size_t{at.tile} * dim + k) * 32 + at.local / 32];
  };
  for (std::uint64_t site = 0; site < graph.sites(); ++site) {
    const Place at = place_of(tiles, lattice, static_cast<Site>(site));
    for (unsigned k = 0; k < dim; ++k) word(at, k) |= 1u << at.local % 32;
  }
  graph.for_each_gone([&](Bond bond) {
    const Place at = place_of(tiles, lattice, lattice.home_a(bond));
    word(at, static_cast<unsigned>(bond % dim)) &= ~(1u << at.local % 32);
  });
  std::vector<Pair> between;
  for (std::uint32_t tile = 0; dim == 1 && tile < tiles.count; ++tile) {
    const auto last =
        static_cast<Site>(std::min<std::uint64_t>(graph.sites(), (tile + 1ull) * kTileSites) - 1);
    const Place at = place_of(tiles, lattice, last);
    if ((word(at, 0) >> at.local % 32 & 1u) == 0) continue;
    word(at, 0) &= ~(1u << at.local % 32);
    between.push_back({last, last, lattice.forward(last, 0)});
  }
  return between;
}

void file_ends(const Lattice& lattice, const Layout& layout, const std::vector<Pair>& pairs,
               WolffTiles& tiles) {
  if (pairs.size() > 0x7FFFFFFFu) {
    throw Error(ExitCode::data, fmt::format("{} rewired bonds are too many for the dense Wolff "
                                            "update (below 2^31)",
                                            pairs.size()));
  }
  const auto lists_of = [](const Place& a, const Place& b) {
    const std::size_t outer = a.tile == b.tile ? 0 : 1;
    return std::pair{2 * std::size_t{a.tile} + outer, 2 * std::size_t{b.tile} + outer};
  };
  tiles.end_first.assign(2 * std::size_t{tiles.count} + 1, 0);
  for (const Pair& p : pairs) {
    const auto [a, b] = lists_of(place_of(tiles, lattice, p.a), place_of(tiles, lattice, p.b));
    ++tiles.end_first[a + 1];
    if (a != b) ++tiles.end_first[b + 1];
  }
  for (std::size_t k = 1; k < tiles.end_first.size(); ++k) {
    tiles.end_first[k] += tiles.end_first[k - 1];
  }
  std::vector<std::uint32_t> next(tiles.end_first.begin(), tiles.end_first.end() - 1);
  tiles.end.resize(tiles.end_first.back());
  tiles.listed.reserve(pairs.size());
  for (const Pair& p : pairs) {
    const Place near = place_of(tiles, lattice, p.a), far = place_of(tiles, lattice, p.b);
    const auto [a, b] = lists_of(near, far);
    ListedBond bond{p.bond, layout.slot(p.a), layout.slot(p.b), 0, 0};
    bond.end_a = bond.end_b = next[a]++;
    if (a != b) {
      bond.end_b = next[b]++;
      tiles.end[bond.end_b] = {far.local | near.local << 10, near.tile, bond.end_a};
    }
    tiles.end[bond.end_a] = {near.local | far.local << 10, far.tile, bond.end_b};
    tiles.listed.push_back(bond);
  }
}

}  // namespace

std::uint32_t WolffTiles::length(int dim, int direction) {
  static constexpr std::uint32_t kLength[kMaxDim + 1][kMaxDim] = {
      {1024, 1, 1, 1}, {1024, 1, 1, 1}, {32, 32, 1, 1}, {32, 8, 4, 1}, {32, 4, 4, 2}};
  return kLength[dim][direction];
}

WolffTiles::WolffTiles(const Graph& graph, const Layout& layout) {
  const Lattice& lattice = graph.lattice();
  count = 1;
  if (lattice.dim == 0) along[0] = static_cast<std::uint32_t>((graph.sites() + 1023) / kTileSites);
  for (int k = 0; k < lattice.dim; ++k) {
    const std::uint32_t size = length(lattice.dim, k);
    along[k] = (lattice.extent[static_cast<unsigned>(k)] + size - 1) / size;
  }
  for (const std::uint32_t n : along) count *= n;
  std::vector<Pair> pairs;
  if (lattice.dim > 0) pairs = lay_lattice_bonds(graph, *this);
  for (const RewiredBond& r : graph.rewired_bonds()) {
    pairs.push_back({static_cast<std::uint32_t>(r.bond), r.a, r.b});
  }
  file_ends(lattice, layout, pairs, *this);
}

}  // namespace rewise::bundle

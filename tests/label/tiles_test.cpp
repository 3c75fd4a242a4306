// The labelling within a tile by CUDA blocks (src/label/papers/tiles.hpp), run on the host: tiles
// cover a lattice once, and every method finds the same clusters as a plain search.
#include "src/label/papers/tiles.hpp"

#include <numeric>
#include <random>
#include <vector>

#include "tests/support/catch.hpp"

namespace {

using namespace rewise;
using namespace rewise::papers;

Lattice box(std::vector<std::uint32_t> extents) {
  Lattice lattice;
  lattice.dim = static_cast<int>(extents.size());
  for (std::size_t k = 0; k < extents.size(); ++k) lattice.extent[k] = extents[k];
  return lattice;
}

// Labels each cluster with its smallest position, by sweeps until nothing changes.
std::vector<std::uint32_t> plain_labels(const LabelTiles& tiles, int dim,
                                        const std::vector<std::uint8_t>& bonds) {
  std::vector<std::uint32_t> label(tiles.sites);
  std::iota(label.begin(), label.end(), 0u);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t index = 0; index < tiles.sites; ++index) {
      for (int k = 0; k < dim; ++k) {
        if ((bonds[index] >> k & 1u) == 0) continue;
        std::uint32_t& a = label[index];
        std::uint32_t& b = label[index + tiles.step[k]];
        changed = changed || a != b;
        a = b = std::min(a, b);
      }
    }
  }
  return label;
}

template <int kDim>
void check_tile(const LabelTiles& tiles, const std::vector<std::uint8_t>& bonds) {
  const std::vector<std::uint32_t> expected = plain_labels(tiles, kDim, bonds);
  std::vector<std::uint32_t> label(tiles.sites, kUnlabelled), queue(tiles.sites);
  search_tile<kDim>(tiles, bonds.data(), label.data(), queue.data());
  CHECK(label == expected);

  std::vector<std::uint32_t> tree(tiles.sites, kRoot + 1), least(tiles.sites);
  unite_tile<kDim>(tiles, bonds.data(), tree.data());
  std::iota(least.begin(), least.end(), 0u);
  for (std::uint32_t index = 0; index < tiles.sites; ++index) {
    lower(&least[tile_root(tree.data(), index)], index);
  }
  for (std::uint32_t index = 0; index < tiles.sites; ++index) {
    label[index] = least[tile_root(tree.data(), index)];
  }
  CHECK(label == expected);

  std::iota(label.begin(), label.end(), 0u);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t thread = 0; thread < 32; ++thread) {
      changed = relabel_tile<kDim>(tiles, bonds.data(), label.data(), thread, 32) || changed;
    }
  }
  CHECK(label == expected);
}

// Checks every tile of a lattice whose bonds are active with a given probability.
template <int kDim>
void check_lattice(const std::vector<std::uint32_t>& extents, std::uint32_t edge,
                   double probability) {
  const Lattice lattice = box(extents);
  const Geometry g = Geometry::make(lattice);
  const LabelTiles tiles = LabelTiles::make(g, kDim, edge, LabelTiles::most_on_cuda(kDim));
  CHECK(tiles.sites <= 4096);
  std::vector<int> seen(lattice.sites());
  std::mt19937 random(7);
  std::bernoulli_distribution occupied(probability);
  for (std::uint32_t tile = 0; tile < tiles.count; ++tile) {
    const TileCorner corner = tile_corner<kDim>(tiles, tile);
    std::vector<std::uint8_t> bonds(tiles.sites);
    Site last = 0;
    for (std::uint32_t index = 0; index < tiles.sites; ++index) {
      const TileSite at = tile_site<kDim>(tiles, g, corner, index);
      if (!at.valid) continue;
      CHECK((index == 0 || at.site > last));
      last = at.site;
      ++seen[at.site];
      for (int k = 0; k < kDim; ++k) {
        if ((at.inside >> k & 1u) == 0) continue;
        const TileSite ahead = tile_site<kDim>(tiles, g, corner, index + tiles.step[k]);
        CHECK((ahead.valid && ahead.site == lattice.forward(at.site, k)));
        if (occupied(random)) bonds[index] = static_cast<std::uint8_t>(bonds[index] | 1u << k);
      }
    }
    check_tile<kDim>(tiles, bonds);
  }
  CHECK(seen == std::vector<int>(lattice.sites(), 1));
}

}  // namespace

TEST_CASE("CUDA tiles: every labelling method on odd and even extents, on the host") {
  for (const std::uint32_t edge : {4u, 7u, 16u, 64u}) {
    for (const double probability : {0.0, 0.3, 0.5, 1.0}) {
      check_lattice<1>({70}, edge, probability);
      check_lattice<2>({33, 20}, edge, probability);
      check_lattice<2>({70, 9}, edge, probability);
      check_lattice<3>({9, 4, 18}, edge, probability);
      check_lattice<4>({4, 9, 3, 5}, edge, probability);
    }
  }
}

TEST_CASE("CUDA tiles: a lattice thinner than a tile has thinner tiles") {
  const Geometry g = Geometry::make(box({1, 100, 2}));
  const LabelTiles tiles = LabelTiles::make(g, 3, 64, LabelTiles::most_on_cuda(3));
  CHECK(tiles.edge[0] == 1);
  CHECK(tiles.edge[1] == 16);
  CHECK(tiles.edge[2] == 2);
  CHECK(tiles.sites == 32);
  CHECK(tiles.count == 7);
}

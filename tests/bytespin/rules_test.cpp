// The addresses of the random draws of the bytespin engine are distinct, and draws of whole blocks
// equal single draws.
#include <set>
#include <vector>

#include "src/bytespin/draws.hpp"
#include "src/bytespin/rules.hpp"
#include "src/bytespin/wolff/bond_draws.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::bytespin;

TEST_CASE("draws have distinct addresses") {
  std::set<std::pair<std::uint64_t, std::uint32_t>> seen;
  for (std::uint64_t draw_index = 0; draw_index < 1000; ++draw_index) {
    CHECK(item_of_draw(draw_index) / kCallsPerBlock == draw_index / kDrawsPerBlock);
    seen.insert({item_of_draw(draw_index), word_of_draw(Words4{{0, 1, 2, 3}}, draw_index)});
  }
  CHECK(seen.size() == 1000);
}

TEST_CASE("bonds have distinct draw indices") {
  for (const auto& extents :
       std::vector<std::vector<std::uint32_t>>{{10}, {6, 4}, {64, 6}, {4, 6, 10}, {4, 4, 4, 6}}) {
    const Lattice lattice = Lattice::make(extents);
    const BondDrawIndex indices = BondDrawIndex::make(lattice);
    const std::uint64_t bonds = lattice.bonds() + 50;  // and added bonds
    std::set<std::uint64_t> seen;
    for (Bond bond = 0; bond < bonds; ++bond) seen.insert(indices.at(bond));
    CHECK(seen.size() == bonds);
    for (Site site = 0; site < lattice.sites(); ++site) {
      for (std::uint32_t k = 0; k < indices.dim; ++k) {
        CHECK(indices.at(Bond{site} * indices.dim + k) == indices.lattice_bond(site, k));
      }
    }
  }
}

TEST_CASE("sites have distinct draw indices") {
  const Lattice lattice = Lattice::make({6, 10, 4});
  const SiteDrawIndex indices = SiteDrawIndex::make(lattice);
  std::set<std::uint64_t> seen;
  for (Site site = 0; site < lattice.sites(); ++site) {
    seen.insert(indices.at(site, lattice.colour(site)));
  }
  CHECK(seen.size() == lattice.sites());
}

TEST_CASE("draws of whole blocks equal single draws") {
  const DrawKey key{0x123456789abcdefull, 77, 0x87654321u};
  for (const std::uint64_t first :
       {std::uint64_t{0}, std::uint64_t{12345}, (std::uint64_t{1} << 28) - 3}) {
    constexpr std::uint64_t kBlocks = 7;
    std::vector<std::uint32_t> words(kBlocks * kDrawsPerBlock);
    draw_words(key, Stream::bytespin_bond, first, kBlocks, words.data());
    bool equal = true;
    for (std::size_t s = 0; s < words.size(); ++s) {
      equal &= words[s] == draw_at(key, Stream::bytespin_bond, first * kDrawsPerBlock + s);
    }
    CHECK(equal);
    for (const Threshold t : {Threshold{0}, Threshold{1}, threshold(0.3), threshold(0.5857864),
                              kCertain - 1, kCertain}) {
      std::vector<std::uint64_t> masks(kBlocks);
      draw_masks(key, Stream::bytespin_bond, t, first, kBlocks, masks.data());
      for (std::size_t s = 0; s < words.size(); ++s) {
        equal &= is_below(words[s], t) == ((masks[s / 64] >> s % 64 & 1) != 0);
      }
      CHECK(equal);
    }
  }
}

TEST_CASE("bond draws with shared products equal the addressed draws") {
  std::uint32_t draw_index = 0;
  for (const DrawKey& key : {DrawKey{0, 0, 0}, DrawKey{0x123456789abcdef0ull, 0xabcdef, 77},
                             DrawKey{~0ull, 1, 0xffffffffu}}) {
    for (int n = 0; n < 500; ++n, draw_index = draw_index * 1664525u + 1013904223u) {
      const std::uint32_t word = draw_at(key, Stream::bytespin_bond, draw_index);
      CHECK(BondDraws(key, Threshold{word} + 1).drawn(draw_index));
      CHECK(!BondDraws(key, Threshold{word}).drawn(draw_index));
    }
  }
}

TEST_CASE("the field index orders the tables") {
  // Spin up, all up: s h = degree; spin down, all up: s h = -degree.
  CHECK(field_index(1, 4, 4, 6) == 6 + 4);
  CHECK(field_index(0, 4, 4, 6) == 6 - 4);
  CHECK(field_index(1, 0, 3, 6) == 6 - 3);
  CHECK(field_index(0, 1, 3, 6) == 6 + 1);
  CHECK(field_index(1, 0, 0, 6) == 6);
}

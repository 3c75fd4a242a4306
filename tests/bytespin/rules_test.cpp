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

TEST_CASE("slots have distinct addresses") {
  std::set<std::pair<std::uint64_t, std::uint32_t>> seen;
  for (std::uint64_t slot = 0; slot < 1000; ++slot) {
    CHECK(slot_item(slot) / kCallsPerBlock == slot / kSlotsPerBlock);
    seen.insert({slot_item(slot), slot_word(Words4{{0, 1, 2, 3}}, slot)});
  }
  CHECK(seen.size() == 1000);
}

TEST_CASE("bonds have distinct slots") {
  for (const auto& extents :
       std::vector<std::vector<std::uint32_t>>{{10}, {6, 4}, {64, 6}, {4, 6, 10}, {4, 4, 4, 6}}) {
    const Lattice lattice = Lattice::make(extents);
    const BondSlots slots = BondSlots::make(lattice);
    const std::uint64_t bonds = lattice.bonds() + 50;  // and added bonds
    std::set<std::uint64_t> seen;
    for (Bond bond = 0; bond < bonds; ++bond) seen.insert(slots.slot(bond));
    CHECK(seen.size() == bonds);
    for (Site site = 0; site < lattice.sites(); ++site) {
      for (std::uint32_t k = 0; k < slots.dim; ++k) {
        CHECK(slots.slot(Bond{site} * slots.dim + k) == slots.lattice_slot(site, k));
      }
    }
  }
}

TEST_CASE("sites have distinct slots") {
  const Lattice lattice = Lattice::make({6, 10, 4});
  const SiteSlots slots = SiteSlots::make(lattice);
  std::set<std::uint64_t> seen;
  for (Site site = 0; site < lattice.sites(); ++site) {
    seen.insert(slots.slot(site, lattice.colour(site)));
  }
  CHECK(seen.size() == lattice.sites());
}

TEST_CASE("draws of whole blocks equal single draws") {
  const DrawKey key{0x123456789abcdefull, 77, 0x87654321u};
  for (const std::uint64_t first :
       {std::uint64_t{0}, std::uint64_t{12345}, (std::uint64_t{1} << 28) - 3}) {
    constexpr std::uint64_t kBlocks = 7;
    std::vector<std::uint32_t> words(kBlocks * kSlotsPerBlock);
    draw_words(key, Stream::bytespin_bond, first, kBlocks, words.data());
    bool equal = true;
    for (std::size_t s = 0; s < words.size(); ++s) {
      equal &= words[s] == slot_draw(key, Stream::bytespin_bond, first * kSlotsPerBlock + s);
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
  std::uint32_t slot = 0;
  for (const DrawKey& key : {DrawKey{0, 0, 0}, DrawKey{0x123456789abcdef0ull, 0xabcdef, 77},
                             DrawKey{~0ull, 1, 0xffffffffu}}) {
    for (int n = 0; n < 500; ++n, slot = slot * 1664525u + 1013904223u) {
      const std::uint32_t word = slot_draw(key, Stream::bytespin_bond, slot);
      CHECK(BondDraws(key, Threshold{word} + 1).drawn(slot));
      CHECK(!BondDraws(key, Threshold{word}).drawn(slot));
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

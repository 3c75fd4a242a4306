// Wrapping and spanning: against a search for closed paths on the unfolded lattice and exact
// shapes.
#include "src/label/spanning.hpp"

#include <algorithm>
#include <map>

#include "src/label/labeller.hpp"
#include "tests/label/shapes.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::labels_test;

namespace {

// Walks every component with the position on the unfolded lattice: a site met again elsewhere
// closes a path around the torus.
std::array<bool, kMaxDim> walked_wrapping(const BondConfiguration& c) {
  std::array<bool, kMaxDim> wraps{};
  using Position = std::array<int, kMaxDim>;
  std::map<Site, Position> at;
  for (Site seed = 0; seed < c.sites; ++seed) {
    if (at.contains(seed)) continue;
    at[seed] = {};
    std::vector<Site> todo{seed};
    while (!todo.empty()) {
      const Site site = todo.back();
      todo.pop_back();
      std::uint32_t stride = 1;
      for (std::size_t k = 0; k < static_cast<std::size_t>(c.lattice.dim); ++k) {
        const std::uint32_t length = c.lattice.extent[k], x = site / stride % length;
        const Site ahead = x + 1 == length ? site - x * stride : site + stride;
        const Site behind = x == 0 ? site + (length - 1) * stride : site - stride;
        const auto visit = [&](Site to, int step) {
          Position there = at[site];
          there[k] += step;
          const auto [found, is_new] = at.insert({to, there});
          if (is_new) todo.push_back(to);
          for (std::size_t j = 0; j < kMaxDim; ++j) wraps[j] |= found->second[j] != there[j];
        };
        if (c.occupied(site, static_cast<int>(k))) visit(ahead, 1);
        if (c.occupied(behind, static_cast<int>(k))) visit(behind, -1);
        stride *= length;
      }
    }
  }
  return wraps;
}

Lattice square(std::uint32_t length) {
  Lattice lattice;
  lattice.dim = 2;
  lattice.extent = {length, length, 1, 1};
  return lattice;
}

}  // namespace

TEST_CASE("wrapping is what a walk on the unfolded lattice finds") {
  int wrapped[2] = {0, 0}, tori = 0;
  for (const Sample& sample : random_samples(400, 78)) {
    const BondConfiguration& c = sample.configuration;
    if (c.lattice.dim == 0 || !c.extra.empty()) continue;
    INFO(sample.name << ", " << c.sites << " sites");
    const auto wraps = wrapped_directions(c);
    REQUIRE(wraps == walked_wrapping(c));
    ++tori;
    ++wrapped[std::any_of(wraps.begin(), wraps.end(), [](bool w) { return w; })];
  }
  CHECK(tori > 60);
  CHECK(wrapped[0] > 15);
  CHECK(wrapped[1] > 15);
}

TEST_CASE("lines around a torus wrap in their direction, a diagonal in both") {
  const std::uint32_t length = 6;
  BondConfiguration line(square(length));
  for (Site x = 0; x < length; ++x) line.occupy(2 * length + x, 0);
  CHECK(wrapped_directions(line) == std::array{true, false, false, false});
  BondConfiguration column(square(length));
  for (Site y = 0; y < length; ++y) column.occupy(y * length + 3, 1);
  CHECK(wrapped_directions(column) == std::array{false, true, false, false});
  column.bonds[1][0] &= ~std::uint64_t{1 << 3};
  CHECK(wrapped_directions(column) == std::array{false, false, false, false});
  BondConfiguration stairs(square(length));
  for (Site k = 0; k < length; ++k) {
    stairs.occupy(k * length + k, 0);
    stairs.occupy(k * length + (k + 1) % length, 1);
  }
  CHECK(wrapped_directions(stairs) == std::array{true, true, false, false});
  const Sample full = hard_samples().back();
  CHECK(wrapped_directions(full.configuration) == std::array{true, true, true, true});
}

TEST_CASE("components that reach across an open lattice span it") {
  const std::uint32_t length = 5;
  BondConfiguration c(square(length));
  for (Site x = 0; x + 1 < length; ++x) c.occupy(length + x, 0);
  CHECK(spanned_directions(c.lattice, label_components(c)) ==
        std::array{true, false, false, false});
  for (Site y = 0; y + 1 < length; ++y) c.occupy(y * length + 4, 1);
  CHECK(spanned_directions(c.lattice, label_components(c)) == std::array{true, true, false, false});
}

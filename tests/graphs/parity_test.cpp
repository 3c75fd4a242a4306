// Rules whose shortcuts join sites of any colour (parity `any`): no bond is lost or doubled, ends
// reach all sites with equal probability, few colours suffice.
#include <cmath>

#include "graphs/graph.hpp"
#include "graphs/moments.hpp"
#include "src/base/error.hpp"
#include "tests/graphs/bond_list.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/chi_square.hpp"
#include "tests/support/statistics.hpp"

using namespace rewise;
using oracle::all_bonds;

namespace {

constexpr Rule kAnyRules[] = {Rule::rewire_any, Rule::swap_any, Rule::add_any};

}  // namespace

TEST_CASE("parity any: no self-loop and no double bond, proper colours, p up to 1, tiny graphs") {
  const std::vector<std::vector<std::uint32_t>> tiny{{8},    {10},      {4, 4},
                                                     {4, 6}, {4, 4, 4}, {4, 4, 4, 4}};
  for (const auto& extents : tiny) {
    for (const Rule rule : kAnyRules) {
      for (const double p : {0.0, 0.05, 0.3, 1.0}) {
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
          const Graph graph = build_graph({extents, p, rule, seed});
          graph.validate();
          const auto bonds = all_bonds(graph);
          INFO(to_string(rule) << " p " << p << " seed " << seed << " sites " << graph.sites());
          REQUIRE(oracle::fault(bonds, extents, true) == "");
          const std::uint64_t lattice = graph.origin().bonds();
          const std::uint64_t added = base_rule(rule) == Rule::add ? graph.shortcuts().size() : 0;
          REQUIRE(bonds.size() == lattice + added);
          if (p == 0) REQUIRE(graph.shortcuts().empty());
          if (p == 0) REQUIRE(graph.colours() == 2);
          if (base_rule(rule) == Rule::swap) {
            const auto d = static_cast<std::uint32_t>(2 * extents.size());
            for (const auto k : oracle::degrees(graph.sites(), bonds)) REQUIRE(k == d);
          }
        }
      }
    }
  }
}

TEST_CASE("parity any: the number of moved ends has the same law as with the checkerboard") {
  for (const Rule rule : {Rule::rewire_any, Rule::add_any}) {
    const double p = 0.3;
    std::vector<std::uint64_t> moved;
    for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
      const auto ends = moments_of(build_graph({{8, 8}, p, rule, seed})).rewired_ends;
      moved.push_back(static_cast<std::uint64_t>(rule == Rule::add_any ? ends / 2 : ends));
    }
    const auto law =
        rule == Rule::add_any ? oracle::binomial(128, p) : oracle::binomial(256, p / 2);
    const auto test = oracle::chi_square_of(moved, law);
    CHECK(test.cells >= 10);
    CHECK(test.p_value > 1e-4);
  }
}

// If one end of a bond moves, the other end has N - 1 possible partners, minus its 2d lattice
// neighbours, which all have the other colour and include the former partner.
TEST_CASE("parity any: ends reach every site with equal probability, of any colour") {
  const std::vector<std::uint32_t> extents{16, 16};
  const double sites = 256;
  for (const Rule rule : kAnyRules) {
    std::vector<double> reaches(256, 0.0);
    double same = 0, all = 0;
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
      const Graph graph = build_graph({extents, 0.05, rule, seed});
      const Lattice lattice = graph.origin();
      for (const RewiredBond& r : graph.shortcuts()) {
        const bool added = r.bond >= lattice.bonds();
        if (added || r.a != lattice.home_a(r.bond)) reaches[r.a] += 1;
        if (added || r.b != lattice.home_b(r.bond)) reaches[r.b] += 1;
        same += oracle::parity(r.a, extents) == oracle::parity(r.b, extents);
        all += 1;
      }
    }
    INFO(to_string(rule));
    double arrived = 0;
    for (const double n : reaches) arrived += n;
    CHECK(oracle::chi_square(reaches, std::vector<double>(256, arrived / sites)).p_value > 1e-4);
    const double share = (sites / 2 - 1) / (sites - 1 - 4);
    INFO("same colour: " << same << " of " << all);
    // Shortcuts of a graph exclude double bonds, which changes the share by less than 1 / N.
    CHECK(std::abs(same / all - share) < 4 * std::sqrt(0.25 / all) + 1 / sites);
  }
}

TEST_CASE("parity any: few colours, equal to those of the lattice except at some shortcuts") {
  const Graph graph = build_graph({{64, 64}, 1.0, Rule::add_any, 3});
  CHECK(graph.colours() <= 8);
  const Graph sparse = build_graph({{64, 64}, 0.01, Rule::rewire_any, 3});
  CHECK(sparse.colours() <= 4);
  std::uint64_t others = 0;
  for (Site site = 0; site < sparse.sites(); ++site) {
    if (sparse.colour(site) == sparse.origin().colour(site)) continue;
    CHECK(sparse.colour(site) >= 2);
    ++others;
  }
  CHECK(others > 0);
  CHECK(others <= sparse.shortcuts().size());
}

TEST_CASE("parity any: exact means, and NaN for unknown ones") {
  const double p = 0.2;
  CHECK(exact_means({{8, 8}, p, Rule::rewire_any, 1}).rewired_ends == 128 * p);
  CHECK(std::isnan(exact_means({{8, 8}, p, Rule::rewire_any, 1}).sum_k2));
  CHECK(exact_means({{8, 8}, p, Rule::swap_any, 1}).sum_k2 == 64 * 16);
}

TEST_CASE("conversions between rules with and without parity") {
  CHECK(parity_of(Rule::swap_any) == Parity::any);
  CHECK(parity_of(Rule::imported) == Parity::checkerboard);
  CHECK(with_parity(Rule::add, Parity::any) == Rule::add_any);
  CHECK(with_parity(Rule::add_any, Parity::checkerboard) == Rule::add);
  CHECK(to_string(Rule::rewire_any) == "rewire-any");
  CHECK(parse_rule("rewire-any") == Rule::rewire_any);
  CHECK_THROWS_AS(parse_parity("odd", "--parity"), Error);
}

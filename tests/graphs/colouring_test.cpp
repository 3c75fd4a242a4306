// Bipartite graphs get two colours, others a proper greedy colouring.
#include "graphs/colouring.hpp"

#include "src/base/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/properties.hpp"

using namespace rewise;

namespace {

Graph plain(std::uint64_t sites, const std::vector<std::pair<Site, Site>>& pairs) {
  std::vector<RewiredBond> bonds;
  for (const auto& [u, v] : pairs) bonds.push_back({bonds.size(), u, v});
  return Graph(sites, bonds, std::vector<std::uint8_t>(sites, 0), 1, "");
}

Graph complete(Site sites) {
  std::vector<std::pair<Site, Site>> pairs;
  for (Site u = 0; u < sites; ++u) {
    for (Site v = 0; v < u; ++v) pairs.emplace_back(u, v);
  }
  return plain(sites, pairs);
}

// True if no bond joins two sites of the same colour.
bool is_proper(const Graph& graph, const Colouring& colouring) {
  bool proper = colouring.colour.size() == graph.sites();
  for (std::uint64_t site = 0; site < graph.sites() && proper; ++site) {
    proper = colouring.colour[site] < colouring.count;
    graph.for_each_neighbour(static_cast<Site>(site), [&](Site other, Bond) {
      proper = proper && colouring.colour[site] != colouring.colour[other];
    });
  }
  return proper;
}

}  // namespace

TEST_CASE("even cycles, trees and isolated sites have two colours") {
  const Graph square = plain(6, {{0, 1}, {1, 2}, {2, 3}, {3, 0}});  // sites 4 and 5 are isolated
  const auto two = two_colouring(square);
  REQUIRE(two.has_value());
  CHECK(two->colour == std::vector<std::uint8_t>{0, 1, 0, 1, 0, 0});
  CHECK(is_proper(square, *two));
  CHECK(two_colouring(plain(4, {{3, 1}, {1, 0}, {1, 2}})).has_value());
}

TEST_CASE("odd cycles have no two-colouring, and greedy finds three") {
  const Graph pentagon = plain(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}});
  CHECK_FALSE(two_colouring(pentagon).has_value());
  const Colouring greedy = greedy_colouring(pentagon);
  CHECK(greedy.count == 3);
  CHECK(is_proper(pentagon, greedy));
  // An odd cycle far from site 0, in another component.
  CHECK_FALSE(two_colouring(plain(7, {{0, 1}, {1, 2}, {4, 5}, {5, 6}, {6, 4}})).has_value());
}

TEST_CASE("complete graphs need one colour per site, up to the limit") {
  CHECK(greedy_colouring(complete(12)).count == 12);
  CHECK(greedy_colouring(complete(256)).count == 256);
  CHECK_THROWS_AS(greedy_colouring(complete(257)), Error);
}

TEST_CASE("random graphs: greedy is proper and has at most max degree + 1 colours") {
  CHECK(oracle::counterexample([] {
          const auto sites = *rc::gen::inRange<Site>(2, 30);
          std::vector<std::pair<Site, Site>> pairs;
          for (Site u = 0; u < sites; ++u) {
            for (Site v = 0; v < u; ++v) {
              if (*rc::gen::inRange(0, 4) == 0) pairs.emplace_back(u, v);
            }
          }
          const Graph graph = plain(sites, pairs);
          const Colouring greedy = greedy_colouring(graph);
          RC_ASSERT(is_proper(graph, greedy));
          RC_ASSERT(greedy.count <= static_cast<int>(graph.max_degree()) + 1);
          const auto two = two_colouring(graph);
          if (two) RC_ASSERT(is_proper(graph, *two));
          if (greedy.count <= 2) RC_ASSERT(two.has_value());
          std::vector<RewiredBond> bonds(graph.rewired_bonds().begin(),
                                         graph.rewired_bonds().end());
          const Graph imported = imported_graph(sites, bonds, "random");
          RC_ASSERT(imported.colours() == (two ? 2 : greedy.count));
        }) == "");
}

TEST_CASE("an imported graph with a bond from a site to itself is an error") {
  using Bonds = std::vector<RewiredBond>;
  for (const auto& [sites, bonds] :
       {std::pair{1u, Bonds{{0, 0, 0}}}, std::pair{2u, Bonds{{0, 0, 1}, {1, 1, 1}}},
        std::pair{2u, Bonds{{0, 0, 1}, {1, 0, 0}}}, std::pair{4u, Bonds{{0, 0, 1}, {1, 2, 2}}}}) {
    CHECK_THROWS_AS(imported_graph(sites, bonds, "loop"), Error);
  }
}

// BoostGraph satisfies the concepts of Boost.Graph (checked at compile time) and has the sites and
// bonds of the graph.
#include <boost/concept/assert.hpp>
#include <boost/graph/bipartite.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <set>

#include "graphs/boost_adaptor.hpp"
#include "graphs/metrics.hpp"
#include "tests/graphs/bond_list.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

BOOST_CONCEPT_ASSERT((boost::GraphConcept<BoostGraph>));
BOOST_CONCEPT_ASSERT((boost::IncidenceGraphConcept<BoostGraph>));
BOOST_CONCEPT_ASSERT((boost::AdjacencyGraphConcept<BoostGraph>));
BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<BoostGraph>));
BOOST_CONCEPT_ASSERT(
    (boost::ReadablePropertyGraphConcept<BoostGraph, Site, boost::vertex_index_t>));

TEST_CASE("BoostGraph lists every bond at both of its sites") {
  for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
    const Graph graph = build_graph({{6, 8}, 0.2, rule, 5});
    const BoostGraph view(graph);
    CHECK(num_vertices(view) == graph.sites());
    std::multiset<oracle::Pair> seen;
    for (auto [v, end] = vertices(view); v != end; ++v) {
      std::vector<Site> by_edge, by_neighbour;
      for (auto [e, last] = out_edges(*v, view); e != last; ++e) {
        CHECK(source(*e, view) == *v);
        by_edge.push_back(target(*e, view));
        seen.insert(oracle::ordered(*v, by_edge.back()));
      }
      for (auto [u, last] = adjacent_vertices(*v, view); u != last; ++u) by_neighbour.push_back(*u);
      CHECK(by_edge == by_neighbour);
      CHECK(out_degree(*v, view) == by_edge.size());
    }
    std::multiset<oracle::Pair> expected;
    for (const auto& [u, v] : oracle::all_bonds(graph)) {
      expected.insert(oracle::ordered(u, v));
      expected.insert(oracle::ordered(u, v));
    }
    CHECK(seen == expected);
  }
}

TEST_CASE("iterators are random access, and a bond equals itself seen from its other site") {
  const Graph graph = build_graph({{8, 8}, 0.1, Rule::rewire, 1});
  const BoostGraph view(graph);
  for (const Site site : {Site{0}, graph.modified_sites()[0]}) {
    auto [first, last] = out_edges(site, view);
    CHECK(last - first == static_cast<std::ptrdiff_t>(graph.degree(site)));
    const BondView second = *(first + 1);
    CHECK(*(last - (last - first - 1)) == second);
    const auto [back, end] = out_edges(second.target, view);
    CHECK(std::find(back, end, second) != end);
  }
}

TEST_CASE("Boost algorithms accept BoostGraph: breadth-first search, bipartiteness") {
  const Graph graph = build_graph({{10, 6}, 0.3, Rule::rewire, 2});
  const BoostGraph view(graph);
  CHECK(boost::is_bipartite(view));
  std::vector<std::uint32_t> distance(graph.sites(), 0);
  boost::breadth_first_search(view, Site{7},
                              boost::visitor(boost::make_bfs_visitor(boost::record_distances(
                                  distance.data(), boost::on_tree_edge()))));
  const auto expected = distances_from(graph, 7);
  for (Site site = 0; site < graph.sites(); ++site) {
    if (expected[site] != 0xFFFFFFFFu) CHECK(distance[site] == expected[site]);
  }
}

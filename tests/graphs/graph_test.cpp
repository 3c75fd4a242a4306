// The derived arrays of a Graph against a plain list of its bonds.
#include "graphs/graph.hpp"

#include <algorithm>

#include "graphs/graph_io.hpp"
#include "src/base/error.hpp"
#include "tests/graphs/bond_list.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

using Entry = std::pair<Site, Bond>;

// Neighbours and bond indices of every site, sorted.
std::vector<std::vector<Entry>> neighbour_lists(std::uint64_t sites,
                                                const std::vector<oracle::Pair>& bonds) {
  std::vector<std::vector<Entry>> lists(sites);
  for (Bond bond = 0; bond < bonds.size(); ++bond) {
    lists[bonds[bond].first].emplace_back(bonds[bond].second, bond);
    lists[bonds[bond].second].emplace_back(bonds[bond].first, bond);
  }
  for (auto& list : lists) std::ranges::sort(list);
  return lists;
}

void check_arrays(const Graph& graph) {
  const auto bonds = oracle::all_bonds(graph);
  const auto lists = neighbour_lists(graph.sites(), bonds);
  const bool has_lattice = graph.lattice().dim > 0;
  const auto regular =
      has_lattice ? neighbour_lists(graph.sites(), oracle::lattice_bonds(graph.spec().extents))
                  : std::vector<std::vector<Entry>>(graph.sites());
  std::vector<Site> modified;
  std::size_t wrong = 0, max_degree = 0;
  for (Site site = 0; site < graph.sites(); ++site) {
    std::vector<Entry> list;
    graph.for_each_neighbour(site, [&](Site v, Bond bond) { list.emplace_back(v, bond); });
    wrong += graph.degree(site) != list.size();
    std::ranges::sort(list);
    wrong += list != lists[site];
    max_degree = std::max(max_degree, list.size());
    if (!has_lattice || lists[site] != regular[site]) modified.push_back(site);
    wrong +=
        graph.modified_index(site).has_value() != (!modified.empty() && modified.back() == site);
  }
  CHECK(wrong == 0);
  CHECK(graph.max_degree() == max_degree);
  CHECK(std::ranges::equal(graph.modified_sites(), modified));
  CHECK(graph.bonds() == bonds.size());

  std::vector<std::uint32_t> by_colour;
  for (int colour = 0; colour < graph.colours(); ++colour) {
    const auto indices = graph.modified_of_colour(colour);
    CHECK(std::ranges::is_sorted(indices));
    for (const std::uint32_t m : indices) {
      wrong += graph.colour(modified[m]) != colour;
      by_colour.push_back(m);
    }
  }
  std::ranges::sort(by_colour);
  CHECK(wrong == 0);
  CHECK(by_colour.size() == modified.size());
  CHECK(std::ranges::adjacent_find(by_colour) == by_colour.end());
}

}  // namespace

TEST_CASE("CSR, modified cells and colour split follow from the bonds, every rule and density") {
  const std::vector<std::vector<std::uint32_t>> shapes{{12},     {4, 4},    {10, 6},
                                                       {32, 32}, {4, 6, 4}, {4, 4, 4, 6}};
  for (const auto& extents : shapes) {
    for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
      for (const double p : {0.0, 0.004, 0.1, 1.0}) {
        INFO(to_string(rule) << " p " << p << " d " << extents.size());
        check_arrays(build_graph({extents, p, rule, 11}));
      }
    }
  }
}

TEST_CASE("a graph without a lattice stores every site, including isolated ones") {
  const Graph graph(5, {{0, 0, 1}, {1, 2, 1}, {2, 3, 0}}, {0, 1, 0, 1, 0}, 2, "file.edges");
  check_arrays(graph);
  graph.validate();
  CHECK(graph.degree(4) == 0);
  CHECK(graph.spec().rule == Rule::imported);
  CHECK(graph.source() == "file.edges");
}

TEST_CASE("rewired bonds may be given in any order") {
  const Graph graph = build_graph({{8, 8}, 0.4, Rule::rewire, 2});
  std::vector<RewiredBond> bonds(graph.rewired_bonds().begin(), graph.rewired_bonds().end());
  std::ranges::reverse(bonds);
  const Graph again(graph.lattice(), bonds, graph.spec());
  CHECK(graph_hash(again) == graph_hash(graph));
  check_arrays(again);
}

TEST_CASE("invalid indices of bonds, sites and colours are refused") {
  const Lattice lattice = Lattice::make({4, 4});
  const GraphSpec spec{{4, 4}, 0.1, Rule::rewire, 1};
  const auto refused = [&](const std::vector<RewiredBond>& bonds) {
    try {
      const Graph graph(lattice, bonds, spec);
    } catch (const Error& error) {
      return error.exit_code() == ExitCode::data;
    }
    return false;
  };
  CHECK(refused({{0, 0, 16}}));            // no such site
  CHECK(refused({{3, 0, 5}, {3, 0, 7}}));  // the same bond twice
  CHECK(refused({{33, 0, 5}}));            // a hole before the first added bond
  CHECK(refused({{1ull << 63, 0, 5}}));
  CHECK_FALSE(refused({{32, 0, 6}}));
  CHECK_THROWS_AS(Graph(0, {}, {}, 1, ""), Error);
  CHECK_THROWS_AS(Graph(2, {{0, 0, 1}}, {0}, 2, ""), Error);     // a colour is missing
  CHECK_THROWS_AS(Graph(2, {{0, 0, 1}}, {0, 2}, 2, ""), Error);  // no such colour
  CHECK_THROWS_AS(Graph(2, {{1, 0, 1}}, {0, 1}, 2, ""), Error);  // bonds start at 0
}

TEST_CASE("for_each_bond visits every bond once, in bond order") {
  for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
    const Graph graph = build_graph({{6, 4, 4}, 0.3, rule, 8});
    std::vector<oracle::Pair> seen;
    for_each_bond(graph, [&](Bond bond, Site a, Site b) {
      REQUIRE(bond == seen.size());
      seen.emplace_back(a, b);
    });
    CHECK(seen == oracle::all_bonds(graph));
  }
}

TEST_CASE("graph_hash distinguishes graphs") {
  const std::string hash = graph_hash(build_graph({{8, 8}, 0.1, Rule::rewire, 1}));
  CHECK(hash.size() == 16);
  CHECK(hash == graph_hash(build_graph({{8, 8}, 0.1, Rule::rewire, 1})));
  CHECK(hash != graph_hash(build_graph({{8, 8}, 0.1, Rule::rewire, 2})));
  CHECK(graph_hash(build_graph({{8, 4}, 0.0, Rule::rewire, 1})) !=
        graph_hash(build_graph({{4, 8}, 0.0, Rule::rewire, 1})));
}

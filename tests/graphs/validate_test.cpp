// validate() detects faults made on purpose and names a bond.
#include <functional>

#include "graphs/graph.hpp"
#include "src/base/error.hpp"
#include "tests/support/catch.hpp"

namespace rewise {

// Has access to the private arrays of a graph, to break them.
struct GraphPeer {
  static std::vector<Site>& neighbours(Graph& g) { return g.neighbours_; }
  static std::vector<Bond>& neighbour_bonds(Graph& g) { return g.neighbour_bonds_; }
  static std::vector<std::uint64_t>& offsets(Graph& g) { return g.offsets_; }
  static std::vector<RewiredBond>& rewired(Graph& g) { return g.rewired_; }
  static std::uint64_t& bonds(Graph& g) { return g.bonds_; }
};

namespace {

// The message of validate(), "" if it finds no fault.
std::string verdict(const Graph& graph) {
  try {
    graph.validate();
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::data);
    return error.what();
  }
  return "";
}

std::string verdict_on(const std::vector<RewiredBond>& bonds) {
  return verdict(Graph(Lattice::make({6, 6}), bonds, {{6, 6}, 0.1, Rule::rewire, 1}));
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("validate: valid graphs pass") {
  CHECK(verdict_on({}) == "");
  CHECK(verdict_on({{0, 0, 22}}) == "");   // bond 0 joins 0 and 1 in the lattice
  CHECK(verdict_on({{72, 0, 22}}) == "");  // an added bond
}

TEST_CASE("validate: faulty bonds are found and named") {
  CHECK(contains(verdict_on({{10, 7, 7}}), "bond 10 joins site 7 to itself"));
  CHECK(contains(verdict_on({{10, 0, 2}}), "bond 10 joins sites 0 and 2 of the same colour"));
  CHECK(contains(verdict_on({{0, 0, 1}}), "bond 0 is listed as rewired, but joins the same"));
  // Bond 8 (between 4 and 5 in the lattice) doubles the lattice bond 0 between 0 and 1.
  const std::string doubled = verdict_on({{8, 0, 1}});
  CHECK(contains(doubled, "bonds 0 and 8 both join sites 0 and 1"));
  // Two rewired bonds on the same pair.
  CHECK(contains(verdict_on({{8, 0, 22}, {12, 22, 0}}), "bonds 8 and 12 both join"));
  CHECK(contains(verdict_on({{72, 6, 0}}), "both join"));  // an added bond on a lattice bond
}

TEST_CASE("validate: faults at a hub are found") {
  const Site leaves = 1000;
  std::vector<RewiredBond> bonds;
  std::vector<std::uint8_t> colours{0};
  for (Site leaf = 1; leaf <= leaves; ++leaf) {
    bonds.push_back({leaf - 1, leaf % 2 == 0 ? 0 : leaf, leaf % 2 == 0 ? leaf : 0});
    colours.push_back(1);
  }
  Graph star(leaves + 1, bonds, colours, 2, "");
  CHECK(verdict(star) == "");
  Graph moved = star;  // an entry of the hub names another bond
  GraphPeer::neighbour_bonds(moved)[500] = 3;
  CHECK(contains(verdict(moved), "but not back"));
  Graph lost = star;  // an entry of the hub names another leaf
  GraphPeer::neighbours(lost)[500] = 7;
  CHECK(verdict(lost) != "");
}

TEST_CASE("validate: the pair of a bond that moved away is free") {
  CHECK(verdict_on({{0, 0, 22}, {8, 0, 1}}) == "");
}

TEST_CASE("validate: imported graphs") {
  CHECK(verdict(Graph(3, {{0, 0, 1}, {1, 1, 2}}, {0, 1, 0}, 2, "")) == "");
  CHECK(contains(verdict(Graph(3, {{0, 0, 1}, {1, 1, 2}}, {0, 1, 1}, 2, "")),
                 "bond 1 joins sites 1 and 2 of the same colour"));
  CHECK(contains(verdict(Graph(2, {{0, 0, 1}, {1, 1, 0}}, {0, 1}, 2, "")), "both join"));
  CHECK(contains(verdict(Graph(2, {{0, 1, 1}}, {0, 1}, 2, "")), "to itself"));
}

TEST_CASE("validate: broken arrays are found") {
  const auto broken = [](const std::function<void(Graph&)>& breaks) {
    Graph graph = build_graph({{8, 8}, 0.1, Rule::rewire, 3});
    CHECK(verdict(graph) == "");
    breaks(graph);
    return verdict(graph);
  };
  CHECK(broken([](Graph& g) { ++GraphPeer::neighbour_bonds(g)[5]; }) != "");
  CHECK(broken([](Graph& g) { GraphPeer::neighbours(g)[5] = 1000; }) != "");
  CHECK(broken([](Graph& g) { GraphPeer::neighbours(g)[5] ^= 2u; }) != "");
  CHECK(broken([](Graph& g) { GraphPeer::neighbours(g)[0] = GraphPeer::neighbours(g)[1]; }) != "");
  CHECK(broken([](Graph& g) { ++GraphPeer::offsets(g)[3]; }) != "");
  CHECK(broken([](Graph& g) { GraphPeer::offsets(g).pop_back(); }) != "");
  CHECK(broken([](Graph& g) { GraphPeer::neighbours(g).pop_back(); }) != "");
  CHECK(broken([](Graph& g) { ++GraphPeer::bonds(g); }) != "");
  CHECK(broken([](Graph& g) { GraphPeer::rewired(g).front().b ^= 2u; }) != "");
}

}  // namespace rewise

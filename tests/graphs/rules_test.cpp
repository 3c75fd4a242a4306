// Properties that each rule guarantees for every graph, checked on plain lists of bonds.
#include <limits>

#include "graphs/graph.hpp"
#include "src/base/error.hpp"
#include "tests/graphs/bond_list.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/properties.hpp"

using namespace rewise;
using oracle::all_bonds;

namespace {

const std::vector<std::vector<std::uint32_t>> kTiny{{8},       {10},      {4, 4},       {4, 6},
                                                    {6, 4, 4}, {4, 4, 4}, {4, 4, 4, 4}, {4, 32}};

ExitCode refusal(const GraphSpec& spec, std::string* text = nullptr) {
  try {
    build_graph(spec);
  } catch (const Error& error) {
    if (text) *text = error.what();
    return error.exit_code();
  }
  return ExitCode::done;
}

}  // namespace

TEST_CASE("every rule keeps the checkerboard without double bonds, p up to 1, tiny graphs") {
  for (const auto& extents : kTiny) {
    for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
      for (const double p : {0.05, 0.3, 1.0}) {
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
          const Graph graph = build_graph({extents, p, rule, seed});
          graph.validate();
          const auto bonds = all_bonds(graph);
          INFO(to_string(rule) << " p " << p << " seed " << seed << " sites " << graph.sites());
          REQUIRE(bonds.size() == graph.bonds());
          REQUIRE(oracle::fault(bonds, extents) == "");
        }
      }
    }
  }
}

TEST_CASE("generated graphs of any shape: bonds, checkerboard, determinism") {
  CHECK(oracle::counterexample(
            [] {
              const auto dim = *rc::gen::inRange<std::size_t>(1, 5);
              auto extents = *rc::gen::container<std::vector<std::uint32_t>>(
                  dim, rc::gen::map(rc::gen::inRange(2u, 5u), [](unsigned k) { return 2 * k; }));
              if (dim == 1) extents[0] += 4;  // shorter rings have no free pairs
              const Rule rule = *rc::gen::element(Rule::rewire, Rule::swap, Rule::add);
              const double p = *rc::gen::inRange(0, 1001) / 1000.0;
              const auto seed = *rc::gen::arbitrary<std::uint64_t>();
              const GraphSpec spec{extents, p, rule, seed};
              const Graph graph = build_graph(spec);
              graph.validate();
              const auto bonds = all_bonds(graph);
              RC_ASSERT(bonds.size() == graph.bonds());
              RC_ASSERT(oracle::fault(bonds, extents) == "");
              RC_ASSERT(graph_hash(graph) == graph_hash(build_graph(spec)));
            },
            200) == "");
}

TEST_CASE("p = 0 leaves the lattice unchanged") {
  for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
    const Graph graph = build_graph({{6, 8}, 0.0, rule, 3});
    CHECK(graph.rewired_bonds().empty());
    CHECK(graph.modified_sites().empty());
    CHECK(graph.bonds() == 96);
    CHECK(graph.max_degree() == 4);
    graph.validate();
  }
}

TEST_CASE("rewire: rewired bonds differ from the original ones if there is enough room") {
  const Graph graph = build_graph({{32, 32}, 0.3, Rule::rewire, 5});
  const auto born = oracle::lattice_bonds({32, 32});
  for (const RewiredBond& r : graph.rewired_bonds()) {
    REQUIRE(r.bond < born.size());
    CHECK((r.a != born[r.bond].first || r.b != born[r.bond].second));
    CHECK(oracle::parity(r.a, {32, 32}) == oracle::parity(born[r.bond].first, {32, 32}));
  }
  CHECK(graph.bonds() == born.size());
}

TEST_CASE("swap: every degree stays 2d, and p B bonds are moved (one more at most)") {
  for (const auto& extents : kTiny) {
    const auto d = static_cast<std::uint32_t>(extents.size());
    for (const double p : {0.01, 0.2, 0.5, 0.75, 1.0}) {
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Graph graph = build_graph({extents, p, Rule::swap, seed});
        for (const std::uint32_t degree : oracle::degrees(graph.sites(), all_bonds(graph))) {
          REQUIRE(degree == 2 * d);
        }
        const auto wanted =
            static_cast<std::uint64_t>(p * static_cast<double>(graph.bonds()) + 0.5);
        const std::uint64_t moved = graph.rewired_bonds().size();
        CHECK((moved == wanted || moved == wanted + 1));
      }
    }
  }
}

TEST_CASE("add: the lattice is unchanged, and added bonds are numbered after its bonds") {
  const Graph graph = build_graph({{6, 10}, 0.4, Rule::add, 9});
  CHECK(graph.bonds() == 120 + graph.rewired_bonds().size());
  Bond next = 120;
  for (const RewiredBond& r : graph.rewired_bonds()) {
    CHECK(r.bond == next++);
    CHECK(oracle::parity(r.a, {6, 10}) == 0);
    CHECK(oracle::parity(r.b, {6, 10}) == 1);
  }
}

TEST_CASE("rewire on rings so small that nothing can move leaves them as they are") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Graph graph = build_graph({{4}, 1.0, Rule::rewire, seed});  // K(2,2) is complete
    CHECK(graph.rewired_bonds().empty());
    const Graph six = build_graph({{6}, 1.0, Rule::rewire, seed});
    six.validate();
    CHECK(oracle::fault(all_bonds(six), {6}) == "");
  }
}

TEST_CASE("tiny p: a huge lattice is built, and almost no bond moves") {
  const Graph graph = build_graph({{65534, 65534}, 1e-12, Rule::rewire, 1});
  CHECK(graph.rewired_bonds().size() < 10);
  CHECK(graph.bonds() == 2ull * 65534 * 65534);
  const Graph denormal = build_graph({{64, 64}, 5e-324, Rule::rewire, 1});
  CHECK(denormal.rewired_bonds().empty());
}

TEST_CASE("invalid specifications are usage errors that name the value") {
  std::string text;
  CHECK(refusal({{8, 8}, 1.5, Rule::rewire, 1}, &text) == ExitCode::usage);
  CHECK(text.find("1.5") != std::string::npos);
  CHECK(refusal({{8, 8}, -0.1, Rule::rewire, 1}) == ExitCode::usage);
  CHECK(refusal({{8, 8}, std::numeric_limits<double>::quiet_NaN(), Rule::add, 1}) ==
        ExitCode::usage);
  CHECK(refusal({{8, 8}, std::numeric_limits<double>::infinity(), Rule::add, 1}) ==
        ExitCode::usage);
  CHECK(refusal({{8, 7}, 0.1, Rule::rewire, 1}, &text) == ExitCode::usage);
  CHECK(text.find("7") != std::string::npos);
  CHECK(refusal({{8, 8}, 0.1, Rule::imported, 1}) == ExitCode::usage);
  CHECK(refusal({{4}, 1.0, Rule::swap, 1}) == ExitCode::usage);  // no exchange is possible
  CHECK(refusal({{4}, 1.0, Rule::add, 1}) == ExitCode::usage);   // no pair is free
}

TEST_CASE("names of rules, and a suggestion for a misspelt one") {
  for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
    CHECK(parse_rule(to_string(rule)) == rule);
  }
  try {
    parse_rule("rewirr");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::usage);
    CHECK(std::string(error.what()).find("did you mean 'rewire'") != std::string::npos);
  }
  CHECK_THROWS_AS(parse_rule("imported"), Error);
}

// Known answers: these graphs are the same for every machine, compiler and number of threads.
// Never change these values: every graph ever published would change.
#include "graphs/graph.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

struct KnownGraph {
  GraphSpec spec;
  std::size_t rewired, modified;
  const char* hash;
};

const KnownGraph kKnown[] = {
    {{{64}, 0.1, Rule::rewire, 1}, 4, 12, "4f4f22c798b1e457"},
    {{{64, 64}, 0.01, Rule::rewire, 1}, 83, 244, "c4b7ae893f77d846"},
    {{{64, 64}, 0.01, Rule::rewire, 0xFEDCBA9876543210ull}, 87, 250, "0e6a10c79db3ecb1"},
    {{{6, 4}, 1.0, Rule::rewire, 7}, 37, 24, "d8ea6a0a6f59ac09"},
    {{{12, 10, 8}, 0.3, Rule::rewire, 1}, 797, 913, "5d537b730c919543"},
    {{{4, 6, 4, 8}, 0.05, Rule::rewire, 1}, 162, 367, "247acf3e41ba2c1f"},
    {{{16384, 16384}, 1e-7, Rule::rewire, 1}, 43, 129, "1edf9b4b33c21b24"},
    {{{64, 64}, 0.1, Rule::swap, 1}, 819, 1414, "caf9b5873ba8c39e"},
    {{{8, 8, 8}, 1.0, Rule::swap, 1}, 1536, 512, "74ba77c70aae689f"},
    {{{64, 64}, 0.1, Rule::add, 1}, 823, 1332, "22d03245c524550c"},
    {{{4, 4}, 1.0, Rule::add, 1}, 32, 16, "faf19c9033d887ac"},
    {{{1024, 1024}, 0.01, Rule::rewire, 1}, 20726, 60524, "88db51826cc47e51"},
};

}  // namespace

TEST_CASE("known graphs") {
  for (const KnownGraph& known : kKnown) {
    const Graph graph = build_graph(known.spec);
    INFO(to_string(known.spec.rule) << " p " << known.spec.p << " sites " << graph.sites());
    CHECK(graph.rewired_bonds().size() == known.rewired);
    CHECK(graph.modified_sites().size() == known.modified);
    CHECK(graph_hash(graph) == known.hash);
  }
}

TEST_CASE("the first rewired bonds of a known graph") {
  const Graph graph = build_graph({{64, 64}, 0.01, Rule::rewire, 1});
  const RewiredBond first = graph.rewired_bonds()[0], second = graph.rewired_bonds()[1];
  CHECK(first.bond == 51);
  CHECK(first.a == 25);
  CHECK(first.b == 2801);
  CHECK(second.bond == 136);
  CHECK(second.a == 124);
  CHECK(second.b == 69);
}

// Edge lists: what is read, and how bad ones are refused. Files under tests/fuzz/corpus are
// replayed.
#include <sstream>

#include "graphs/graph_io.hpp"
#include "tests/graphs/bond_list.hpp"
#include "tests/graphs/files.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/properties.hpp"

using namespace rewise;

namespace {

Graph read(const std::string& text) {
  std::istringstream in(text);
  return read_edge_list(in, "g.edges");
}

oracle::Refusal refusal(const std::string& text) {
  return oracle::refusal_of([&] { read(text); });
}

}  // namespace

TEST_CASE("an edge list is read with comments, blanks and either line ending") {
  const Graph graph = read("# a path\n0 1\n\n   1\t2   # with a remark\r\n  \t \r\n3 2");
  CHECK(graph.sites() == 4);
  CHECK(oracle::all_bonds(graph) == std::vector<oracle::Pair>{{0, 1}, {1, 2}, {3, 2}});
  CHECK(graph.lattice().dim == 0);
  CHECK(graph.colours() == 2);
  CHECK(graph.spec().rule == Rule::imported);
  CHECK(graph.source() == "g.edges");
}

TEST_CASE("sites without bonds below the largest number are isolated") {
  const Graph graph = read("0 5\n");
  CHECK(graph.sites() == 6);
  CHECK(graph.degree(3) == 0);
}

TEST_CASE("a triangle is coloured with three colours") {
  CHECK(read("0 1\n1 2\n2 0\n").colours() == 3);
}

TEST_CASE("bad edge lists are unfit data, and the message names file and line") {
  for (const char* line : {"1", "1 ", "a b", "1 2 3", "1,2", "-1 2", "1 -2", "1.5 2", "0x1 2",
                           "1 2x", "1 +2", "\"1\" 2", "1 2\t3",
                           "\xEF\xBB\xBF"
                           "1 2",
                           "1\v2"}) {
    const auto bad = refusal("# head\n0 1\n" + std::string(line) + "\n5 6\n");
    INFO(line << " -> " << bad.text);
    CHECK(bad.code == ExitCode::data);
    CHECK(bad.says("g.edges:3: a bad line"));
    CHECK(bad.text.find('\n') == std::string::npos);
  }
  CHECK(refusal(std::string("0 1\n1 2\0\n", 9)).says("g.edges:2: a bad line"));
  CHECK(refusal("0 1\n\n7 7\n").says("g.edges:3: site 7 is joined to itself"));
  CHECK(refusal("0 1\n1 2\n1 0\n").says("g.edges:3: sites 1 and 0 are joined already, in line 1"));
  CHECK(refusal("0 1\n0 4294967295\n").says("g.edges:2: too many sites"));
  CHECK(refusal("0 99999999999999999999999999999999\n").says("g.edges:1: too many sites"));
  CHECK(refusal("0 1\n2 3000000000\n4 5\n").says("g.edges:2: site 3000000000"));
  CHECK(refusal("").code == ExitCode::data);
  CHECK(refusal("# nothing\n\n").says("holds no bond"));
}

TEST_CASE("a line of any length costs no memory of its own") {
  const Graph graph = read("0 1 #" + std::string(1 << 22, 'x') + "\n" + std::string(1 << 20, ' ') +
                           "1 2\n" + std::string(1000, '0') + " 3\n");
  CHECK(graph.bonds() == 3);
}

TEST_CASE("any bytes either make a graph or are refused as unfit data") {
  CHECK(oracle::counterexample(
            [] {
              // Mostly the characters of an edge list, so that some of it parses.
              const auto text = *rc::gen::container<std::string>(
                  rc::gen::oneOf(rc::gen::element('0', '1', '2', '3', ' ', '\n', '\n', '#'),
                                 rc::gen::arbitrary<char>()));
              try {
                read(text).validate();
              } catch (const Error& error) {
                RC_ASSERT(error.exit_code() == ExitCode::data);
              }
            },
            1000) == "");
}

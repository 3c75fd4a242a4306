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

Graph read(const std::string& text, FirstSite first = FirstSite::unsaid) {
  std::istringstream in(text);
  return read_edge_list(in, "g.edges", first);
}

oracle::Refusal refusal(const std::string& text, FirstSite first = FirstSite::unsaid) {
  return oracle::refusal_of([&] { read(text, first); });
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

TEST_CASE("a list that counts from 1 is refused until it is said what it counts from") {
  const std::string ring = "1 2\n2 3\n3 4\n4 1\n";
  const auto refused = refusal(ring);
  CHECK(refused.code == ExitCode::data);
  CHECK(refused.says("g.edges: sites are numbered 1 to 4: say --first-site 1"));
  const Graph graph = read(ring, FirstSite::one);
  CHECK(graph.sites() == 4);
  CHECK(oracle::all_bonds(graph) == std::vector<oracle::Pair>{{0, 1}, {1, 2}, {2, 3}, {3, 0}});
  CHECK(graph_hash(graph) == graph_hash(read("0 1\n1 2\n2 3\n3 0\n")));
  CHECK(read(ring, FirstSite::zero).sites() == 5);
  // Another site is left out, too: nothing says what they are counted from.
  CHECK(read("1 2\n2 4\n").sites() == 5);
  CHECK(read("1 2\n2 4\n", FirstSite::one).sites() == 4);
  CHECK(refusal("0 1\n1 2\n", FirstSite::one).says("site 0 in a list"));
}

TEST_CASE("edge lists as NetworkX writes them: numbers with data, names, grids") {
  // write_edgelist(path_graph(4)), with data {'weight': 1}, and write_weighted_edgelist
  const std::vector<oracle::Pair> path{{0, 1}, {1, 2}, {2, 3}};
  CHECK(oracle::all_bonds(read("0 1 {}\n1 2 {}\n2 3 {}\n")) == path);
  CHECK(oracle::all_bonds(read("0 1 {'weight': 1}\n1 2 {'weight': 1.0}\n2 3 {}\n")) == path);
  CHECK(oracle::all_bonds(read("0 1 1\n1 2 1.0\n2 3 1.0 # one\n")) == path);
  CHECK(oracle::all_bonds(read("0 1 {'kind': \"it's\", 'on': True, 'label': 7}\n1 2 {'none': None, "
                               "'at': (0, {'a': [1, 2]})}\n2 3 {}\n")) == path);
  CHECK(oracle::all_bonds(
            read("anna bob {'kind': 'friend'}\nbob carl {}\ncarl d\xC3\xB6rte {}\n")) == path);
  // write_edgelist(grid_2d_graph(2, 2))
  const Graph grid =
      read("(0, 0) (1, 0) {}\n(0, 0) (0, 1) {}\n(0, 1) (1, 1) {}\n(1, 0) (1, 1) {}\n");
  CHECK(grid.sites() == 4);
  CHECK(oracle::all_bonds(grid) == std::vector<oracle::Pair>{{0, 1}, {0, 2}, {2, 3}, {1, 3}});
  CHECK(read("\xEF\xBB\xBF"
             "0 1\n")
            .sites() == 2);
}

TEST_CASE("couplings, fields and unknown numbers in an edge list are refused by name") {
  for (const auto& [data, said] : std::vector<std::pair<std::string, std::string>>{
           {"{'weight': -1}", "edge attribute \"weight\" (-1 in line 2)"},
           {"{'weight': 0.999}", "\"weight\" (0.999 in line 2)"},
           {"{'weight': 'strong'}", "\"weight\" (strong in line 2)"},
           {"{'kind': 'x', 'J': -1}", "\"J\" (-1 in line 2)"},
           {"{'J_ij': 2}", "\"J_ij\" (2 in line 2)"},
           {"{'Bond Coupling': nan}", "\"Bond Coupling\" (nan in line 2)"},
           {"{'h': 0.5}", "\"h\" (0.5 in line 2)"},
           {"{'capacity': 3}", "\"capacity\" (3 in line 2)"},
           {"{'weight': np.float64(0.5)}", "\"weight\" (np.float64(0.5) in line 2)"},
           {"{'a': 1, 'J': 2}", "edge attribute \"J\" (2 in line 2), edge attribute \"a\" (1 in"},
           {"{'we\x1bight': 2}", "a bad line"}}) {
    const auto refused = refusal("0 1 {}\n1 2 " + data + "\n2 3 {'weight': 1, 'h': 0}\n");
    INFO(data << " -> " << refused.text);
    CHECK(refused.code == ExitCode::data);
    CHECK(refused.says(said));
    CHECK(refused.text.find('\n') == std::string::npos);
  }
  CHECK(refusal("0 1 1.0\n1 2 -1.0\n").says("g.edges:2: a bad line: '-1.0'"));
}

TEST_CASE("names and numbers do not mix, and names are told in errors") {
  CHECK(refusal("0 1\n1 two\n").says("g.edges:2: a bad line: name 'two' among site numbers"));
  CHECK(refusal("source target\n0 1\n").says("g.edges:2: a bad line: site number 0 among names"));
  CHECK(refusal("1,2 3\n").says("g.edges:1: a bad line"));
  CHECK(refusal("New York Boston {}\n").says("g.edges:1: a bad line"));
  CHECK(refusal("a b\nb a\n").says("g.edges:2: sites b and a are joined already, in line 1"));
  CHECK(refusal("a a\n").says("site a is joined to itself"));
  CHECK(refusal("(0, 1 (1, 2)\n").says("a bad line"));
  CHECK(refusal("a " + std::string(300, 'b') + "\n").says("a name of over 256 characters"));
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

// Edge lists: what is read, and errors for invalid ones. The tests of tests/fuzz read the files
// under tests/fuzz/corpus.
#include <sstream>

#include "graphs/graph_io.hpp"
#include "src/base/fixed_point.hpp"
#include "tests/graphs/bond_list.hpp"
#include "tests/graphs/files.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/properties.hpp"

using namespace rewise;

namespace {

Graph read(const std::string& text, const ReadOptions& options = {}) {
  std::istringstream in(text);
  return read_edge_list(in, "g.edges", options);
}

oracle::Refusal edge_list_refusal(const std::string& text, const ReadOptions& options = {}) {
  return oracle::refusal_of([&] { read(text, options); });
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

TEST_CASE("invalid edge lists: Error(data), and the message names file and line") {
  for (const char* line : {"1", "1 ", "a b", "1 2 3", "1,2", "-1 2", "1 -2", "1.5 2", "0x1 2",
                           "1 2x", "1 +2", "\"1\" 2", "1 2\t3",
                           "\xEF\xBB\xBF"
                           "1 2",
                           "1\v2"}) {
    const auto bad = edge_list_refusal("# head\n0 1\n" + std::string(line) + "\n5 6\n");
    INFO(line << " -> " << bad.text);
    CHECK(bad.code == ExitCode::data);
    CHECK(bad.says("g.edges:3: invalid line"));
    CHECK(bad.text.find('\n') == std::string::npos);
  }
  CHECK(edge_list_refusal(std::string("0 1\n1 2\0\n", 9)).says("g.edges:2: invalid line"));
  CHECK(edge_list_refusal("0 1\n\n7 7\n").says("g.edges:3: site 7 is joined to itself"));
  CHECK(edge_list_refusal("0 1\n1 2\n1 0\n")
            .says("g.edges:3: sites 1 and 0 are already joined by line 1"));
  CHECK(edge_list_refusal("0 1\n0 4294967295\n").says("g.edges:2: too many sites"));
  CHECK(
      edge_list_refusal("0 99999999999999999999999999999999\n").says("g.edges:1: too many sites"));
  CHECK(edge_list_refusal("0 1\n2 3000000000\n4 5\n").says("g.edges:2: site 3000000000"));
  CHECK(edge_list_refusal("").code == ExitCode::data);
  CHECK(edge_list_refusal("# nothing\n\n").says("the file has no bonds"));
}

TEST_CASE("a list with sites numbered from 1 is refused unless the first number is given") {
  const std::string ring = "1 2\n2 3\n3 4\n4 1\n";
  const auto refused = edge_list_refusal(ring);
  CHECK(refused.code == ExitCode::data);
  CHECK(refused.says("g.edges: sites are numbered 1 to 4: give --first-site 1"));
  const Graph graph = read(ring, {.first_site = FirstSite::one});
  CHECK(graph.sites() == 4);
  CHECK(oracle::all_bonds(graph) == std::vector<oracle::Pair>{{0, 1}, {1, 2}, {2, 3}, {3, 0}});
  CHECK(graph_hash(graph) == graph_hash(read("0 1\n1 2\n2 3\n3 0\n")));
  CHECK(read(ring, {.first_site = FirstSite::zero}).sites() == 5);
  // Site 3 is missing as well, so the list does not tell the first number: 0 is assumed.
  CHECK(read("1 2\n2 4\n").sites() == 5);
  CHECK(read("1 2\n2 4\n", {.first_site = FirstSite::one}).sites() == 4);
  CHECK(edge_list_refusal("0 1\n1 2\n", {.first_site = FirstSite::one})
            .says("site 0 is invalid "
                  "in a list"));
}

TEST_CASE("edge lists written by NetworkX: numbers with data, names, grids") {
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
           {"{'we\x1bight': 2}", "invalid line"}}) {
    const auto refused = edge_list_refusal("0 1 {}\n1 2 " + data + "\n2 3 {'weight': 1, 'h': 0}\n");
    INFO(data << " -> " << refused.text);
    CHECK(refused.code == ExitCode::data);
    CHECK(refused.says(said));
    CHECK(refused.text.find('\n') == std::string::npos);
  }
  CHECK(edge_list_refusal("0 1 1.0\n1 2 -1.0\n").says("g.edges:2: invalid line: '-1.0'"));
}

TEST_CASE("names and numbers do not mix, and errors show names") {
  CHECK(edge_list_refusal("0 1\n1 two\n")
            .says("g.edges:2: invalid line: name 'two' in a list of site numbers"));
  CHECK(edge_list_refusal("a b\nc d\n0 1\n")
            .says("g.edges:3: invalid line: site number 0 in a list of names"));
  CHECK(edge_list_refusal("1,2 3\n").says("g.edges:1: invalid line"));
  CHECK(edge_list_refusal("New York Boston {}\n").says("g.edges:1: invalid line"));
  CHECK(edge_list_refusal("a b\nb a\n")
            .says("g.edges:2: sites b and a are already joined by line 1"));
  CHECK(edge_list_refusal("a a\n").says("site a is joined to itself"));
  CHECK(edge_list_refusal("(0, 1 (1, 2)\n").says("invalid line"));
  CHECK(edge_list_refusal("a " + std::string(300, 'b') + "\n")
            .says("a name is longer than 256 "
                  "characters"));
}

TEST_CASE("columns are separated by blanks and tabs, commas or semicolons, one kind per file") {
  const std::vector<oracle::Pair> triangle{{0, 1}, {1, 2}, {2, 0}};
  for (const char* text :
       {"alice, bob\nbob, carol\ncarol, alice\n", "alice,bob\nbob ,carol\n carol ,\talice \r\n",
        "alice;bob\nbob; carol;1\ncarol;alice;\n", "alice\tbob\nbob carol\ncarol \t alice\n",
        "% sym unweighted\nalice bob\nbob carol % a remark\ncarol alice # another\n",
        "\"alice\",\"bob\"\nbob,'carol'\ncarol,alice\n",
        "alice,bob,{'a': 'x'}\nbob,carol,{}\ncarol,alice\n", "0,1\n1, 2\n2 ,0,1.0\n",
        "0;1;1\n1;2\n2;0\n", "0\t1\n1\t2\n2\t0\n", "\"a, b\" c\nc d\nd \"a, b\"\n",
        "J\xC3\xBCrgen,\xE6\xB1\x89\n\xE6\xB1\x89,zoe\nzoe,J\xC3\xBCrgen\n"}) {
    INFO(text);
    const Graph graph = read(text);
    CHECK(graph.sites() == 3);
    CHECK(oracle::all_bonds(graph) == triangle);
  }
  for (const auto& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {"0,1\n1 2\n",
            "g.edges:2: invalid line: a blank after '1', but line 1 separates its "
            "columns by ','"},
           {"0 1\n1,2\n",
            "g.edges:2: invalid line: ',' after '1', but line 1 separates its "
            "columns by a blank"},
           {"# x\na;b\nb,c\n",
            "g.edges:3: invalid line: ',' after 'b', but line 2 separates its "
            "columns by ';'"},
           {"a,b c\n", "g.edges:1: invalid line: a blank after 'b'"},
           {"New York,Boston\n", "g.edges:1: invalid line: ',' after 'York'"},
           {"0,1\n1,,2\n",
            "g.edges:2: invalid line: two site numbers or two names are expected, but "
            "',' follows after '1'"},
           {"0,\n", "the line ends after '0'"},
           {"0|1\n", "'|' follows after '0'"},
           {"0 @1\n", "'@' follows after '0'"},
           {"alice\xEF\xBC\x8C bob\n", "no name"},
           {"alice\xC2\xA0"
            "bob carol\n",
            "within the name"},
           {"alice: bob\n", "the name 'alice:' ends with ':'"},
           {"a b#c\n", "'#' within the name 'b#c'"},
           {"Source,Target\nalice,bob\n", "g.edges:1: 'Source' and 'Target' look like the header"},
           {"% bip unweighted\n1 1\n", "g.edges:1: '% bip'"},
           {"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 1\n",
            "g.edges:1: this is a Matrix Market file"}}) {
    const auto refused = edge_list_refusal(text);
    INFO(text << " -> " << refused.text);
    CHECK(refused.code == ExitCode::data);
    CHECK(refused.says(said == "no name" ? "within the name" : said));
    CHECK(refused.text.find('\n') == std::string::npos);
  }
}

TEST_CASE("the third column is a weight, further ones have names, and --ignore skips them") {
  const std::string konect = "% sym weighted\n1 2 1 1082040961\n2 3 1 1082040962\n3 1 4\n";
  const auto refused = edge_list_refusal(konect);
  CHECK(refused.code == ExitCode::data);
  CHECK(
      refused.says("g.edges:2: invalid line: '1082040961' in column 4 (in KONECT's files the "
                   "time"));
  CHECK(refused.says("--ignore column4"));
  const ReadOptions time{.first_site = FirstSite::one, .ignore = {"column4"}};
  CHECK(edge_list_refusal(konect, time)
            .says("g.edges:4: invalid line: '4' in column 3 is a coupling: --couplings "
                  "file"));
  CHECK(read(konect, {.first_site = FirstSite::one, .ignore = {"column4", "weight"}}).sites() == 3);
  CHECK(edge_list_refusal("0 1 1 2 3\n", {.ignore = {"column4"}}).says("'3' in column 5"));
  CHECK(read("0 1 1 2 3\n", {.ignore = {"column4", "column5"}}).bonds() == 1);
}

TEST_CASE("'# sites N' gives the number of sites and must agree with the bonds") {
  CHECK(read("# sites 5\n0 1\n").sites() == 5);
  CHECK(read("0 1\n  # sites 5 \r\n").sites() == 5);
  CHECK(read("# sites 5\n1 2\n2 3\n3 4\n").sites() == 5);  // site 0 has no bond
  CHECK(read("# sites 3\n").bonds() == 0);
  CHECK(read("# sites 4\na b\n").sites() == 4);
  CHECK(read("# sites 4\n1 2\n2 3\n3 4\n", {.first_site = FirstSite::one}).sites() == 4);
  CHECK(read("# sites 70000\n0 69999\n").sites() == 70000);
  CHECK(read("# sites 5\na b\nb c\n").sites() == 5);
  CHECK(edge_list_refusal("# sites 4\n1 2\n2 3\n3 4\n").says("give --first-site 1"));
  CHECK(edge_list_refusal("# sites 3\n0 1\n1 3\n")
            .says("g.edges:1: '# sites 3', but line 3 has site 3, and sites are numbered from 0"));
  CHECK(edge_list_refusal("# sites 3\n1 2\n2 4\n", {.first_site = FirstSite::one})
            .says("'# sites 3', but line 3 has site 4, and sites are numbered from 1"));
  CHECK(edge_list_refusal("# sites 3\na b\nc d\n").says("'# sites 3', but the bonds join 4 sites"));
  CHECK(edge_list_refusal("# sites 0\n").says("g.edges:1: '# sites 0'"));
  CHECK(edge_list_refusal("# sites 3\n# sites 4\n0 1\n")
            .says("g.edges:2: '# sites 4', but line 1 has '# sites 3'"));
  CHECK(edge_list_refusal("# sites 99999999\n0 1\n").says("g.edges:1: 99999999 sites for 1 bonds"));
  CHECK(edge_list_refusal("# sites 99999999999\n0 1\n").says("g.edges:1: too many sites"));
}

TEST_CASE("counts of sites are read in many spellings, and contradictions are refused") {
  for (const char* comment :
       {"# Sites: 5", "# sites: 5", "# sites=5", "#sites 5", "% sites 5", "# Nodes: 5 Edges: 2",
        "# nodes 5", "# vertices 5", "# 5 vertices, 2 bonds", "# Number of nodes = 5",
        "## num_nodes: 5; num_edges: 2 ", "% asym unweighted\n% 2 5 5"}) {
    const std::string text = std::string(comment) + "\n1 2\n2 3\n";
    INFO(text);
    CHECK(read(text).sites() == 5);
    CHECK(read(text).bonds() == 2);
    CHECK(read(text, {.first_site = FirstSite::one}).degree(1) == 2);
  }
  for (const char* remark :
       {"# sites 5 to 9 are hubs", "# nodes", "# node 5", "# sites 5.0", "# 5", "% 2 5 5",
        "# 9 of 12 nodes", "# sites 5 6", "# sites nodes 7 7", "# run 5, sites 7"}) {
    INFO(remark);
    CHECK(read(std::string(remark) + "\n0 1\n1 2\n").sites() == 3);
  }
  CHECK(read("0 1 # sites 7\n").sites() == 2);  // a remark behind a bond
  CHECK(edge_list_refusal("# sites: 3\n0 1\n1 3\n")
            .says("g.edges:1: '# sites: 3', but line 3 has site 3"));
  CHECK(edge_list_refusal("# Nodes: 5 Edges: 3\n0 1\n1 2\n")
            .says("g.edges:1: '# Nodes: 5 Edges: 3', but the list has 2 bonds"));
  CHECK(edge_list_refusal("# Nodes: 5 Edges: 2\n# nodes 6\n0 1\n1 2\n")
            .says("g.edges:2: '# nodes 6', but line 1 has '# Nodes: 5 Edges: 2'"));
  // Edges may be counted before or after double bonds are merged.
  CHECK(read("# edges 3\n0 1\n1 0\n1 2\n", {.merge = true}).bonds() == 2);
  CHECK(read("# edges 2\n0 1\n1 0\n1 2\n", {.merge = true}).bonds() == 2);
}

TEST_CASE("site numbers beyond the number of nodes are labels, as in lists of SNAP") {
  const std::string list = "# FromNodeId\tToNodeId\n3466\t937\n937\t4000000000\n17 937\n";
  const Graph graph = read("# Nodes: 4 Edges: 3\n" + list);
  CHECK(graph.sites() == 4);
  CHECK(oracle::all_bonds(graph) == std::vector<oracle::Pair>{{2, 1}, {1, 3}, {0, 1}});
  CHECK(read("# Nodes: 6 Edges: 3\n" + list).sites() == 6);  // two without bonds
  CHECK(edge_list_refusal("# Nodes: 3 Edges: 3\n" + list)
            .says("g.edges:1: '# Nodes: 3 Edges: 3', but the bonds join 4 sites"));
  CHECK(edge_list_refusal("# sites 4\n" + list).says("g.edges:1: 4000000001 sites for 3 bonds"));
  CHECK(edge_list_refusal("# sites 4\n3 900\n").says("'# sites 4', but line 2 has site 900"));
  CHECK(read("# Nodes: 3\n1 2\n2 3\n").sites() == 3);
  CHECK(edge_list_refusal("# Nodes: 3\n1 2\n2 9\n", {.first_site = FirstSite::zero})
            .says("'# Nodes: 3', but line 3 has site 9, and sites are numbered from 0"));
}

TEST_CASE("sites in lists of KONECT are numbered from 1") {
  const Graph graph = read("% sym unweighted\n% 2 5 5\n1 2\n2 4\n");
  CHECK(graph.sites() == 5);
  CHECK(oracle::all_bonds(graph) == std::vector<oracle::Pair>{{0, 1}, {1, 3}});
  CHECK(read("% sym unweighted\n1 2\n2 4\n").sites() == 4);
  CHECK(read("% sym unweighted\n1 2\n", {.first_site = FirstSite::zero}).sites() == 3);
  CHECK(edge_list_refusal("% sym unweighted\n% 3 5 5\n1 2\n2 4\n")
            .says("g.edges:2: '% 3 5 5', but the list"));
  CHECK(edge_list_refusal("% sym unweighted\n% 2 3 3\n1 2\n2 4\n")
            .says("g.edges:2: '% 2 3 3', but line 4 has site 4, and sites are numbered from 1"));
  CHECK(edge_list_refusal("% sym unweighted\n0 1\n").says("site 0 is invalid in a list"));
}

TEST_CASE("a header without '#' is recognised, and the error says what to do") {
  for (const char* text :
       {"source target weight\n0 1 1\n", "from,to\n0,1\n", "Source;Target;Type;Weight\n0;1;u;1\n",
        "u v\n0 1\n", "person_a person_b\n3 4\n", "\"source\",\"target\"\nalice,bob\n",
        "FromNodeId\tToNodeId\n0\t1\n"}) {
    const auto refused = edge_list_refusal(text);
    INFO(text << " -> " << refused.text);
    CHECK(refused.code == ExitCode::data);
    CHECK(refused.says("look like the header of a table: begin the line with '#'"));
    CHECK(refused.says("g.edges:1: "));
    CHECK(read("#" + std::string(text), {.ignore = {"weight", "column4"}}).bonds() > 0);
  }
  CHECK(
      edge_list_refusal("u v weight\n0 1 1\n")
          .says("g.edges:1: invalid line: 'weight' in column 3 is not a coupling (allowed: 0, or"));
  CHECK(edge_list_refusal("u v weight\n0 1 1\n").says("'#' if it is the header of a table"));
  CHECK(!edge_list_refusal("0 1 weight\n").says("header"));
  CHECK(read("u v\nv w\n").sites() == 3);
}

TEST_CASE("texts that may mean a coupling are refused by name, unless they mean J = +1") {
  const auto edge = [](const std::string& data) { return "a b {" + data + "}\nb c {}\n"; };
  for (const char* data : {"'sign': '-'",
                           "\"J\": -1",
                           "'J': 'strong'",
                           "'sign': False",
                           "'sign': 'friend'",
                           "'sign': None",
                           "'sign': ''",
                           "'ferro': False",
                           "'ferromagnetic': 'false'",
                           "'antiferro': True",
                           "'negative': 'yes'",
                           "'polarity': 'negative'",
                           "'polarity': 'up'",
                           "'coupling': 'antiferro'",
                           "'interaction': 'repulsive'",
                           "'interaction': 'pp'",
                           "'kind': 'antiferromagnetic'",
                           "'type': 'AFM'",
                           "'type': 'Anti-Ferro'",
                           "'type': '-'",
                           "'type': '\xE2\x88\x92'",
                           "'label': '-'",
                           "'label': -1",
                           "'edge_sign': 'a'",
                           "'J_ij': 'x'",
                           "'weight': 'one'",
                           "'afm': 1",
                           "'anti': '+'"}) {
    const auto refused = edge_list_refusal(edge(data));
    INFO(data << " -> " << refused.text);
    CHECK(refused.code == ExitCode::data);
    CHECK(refused.says("g.edges: edge attribute \""));
    const std::string name = std::string(data).substr(1, std::string(data).find(':') - 2);
    CHECK(refused.says("--ignore " + name + " skips"));
    CHECK(read(edge(data), {.ignore = {name}}).bonds() == 2);
  }
  for (const char* data : {"'sign': '+'",
                           "'sign': 1",
                           "'sign': True",
                           "'J': '+1'",
                           "'J': 1.0",
                           "'ferro': True",
                           "'polarity': 'positive'",
                           "'coupling': 'ferromagnetic'",
                           "'antiferro': False",
                           "'negative': 0",
                           "'weight': '+'",
                           "'label': 'street'",
                           "'colour': 'red'",
                           "'type': 'street'",
                           "'type': 'ferry'",
                           "'type': 'ferro'",
                           "'design': 'x'",
                           "'on': False",
                           "'label': 7",
                           "'layer': -1",
                           "'kind': 'minor'"}) {
    const auto refused = edge_list_refusal(edge(data));
    INFO(data << " -> " << refused.text);
    CHECK(read(edge(data)).bonds() == 2);
  }
  CHECK(read("a b +\nb c 1\n").bonds() == 2);
  CHECK(edge_list_refusal("a b +\nb c -\n").says("g.edges:2: invalid line: '-' in column 3"));
}

TEST_CASE("ignoring an unknown attribute is an error that lists the existing ones") {
  const ReadOptions strict{.ignore = {"J", "rnk"}, .all_ignored_exist = true};
  const std::string text = "a b {'J': 2, 'kind': 'x'}\nb c {'rank': 'low'}\n";
  const auto refused = edge_list_refusal(text, strict);
  CHECK(refused.code == ExitCode::usage);
  CHECK(
      refused.says("g.edges: --ignore rnk: the file has no such attribute (it has \"J\", "
                   "\"kind\", \"rank\")"));
  CHECK(read(text, {.ignore = {"J", "rnk"}}).bonds() == 2);  // allowed with several files
  CHECK(read("a b {'J': 2}\nb c {'rnk': 3}\n", strict).bonds() == 2);
  CHECK(edge_list_refusal("a b\n", strict).says("(it has no attributes)"));
  CHECK(read("0 1 2 3\n", {.ignore = {"weight", "column4"}, .all_ignored_exist = true}).bonds() ==
        1);
}

TEST_CASE("double bonds are merged on request") {
  const std::string text = "0 1\n1 0\n1 2\n0 1\n";
  CHECK(edge_list_refusal(text).says("by line 1 (--merge combines such bonds into one)"));
  CHECK(oracle::all_bonds(read(text, {.merge = true})) ==
        std::vector<oracle::Pair>{{0, 1}, {1, 2}});
  CHECK(edge_list_refusal("0 1\n1 1\n", {.merge = true}).says("joined to itself"));
}

TEST_CASE("numbers are read in the notations of people and programs") {
  for (const char* one : {"1", "1.", "1.0", "+1", "1e0", "0x1p+0", "1.0D+00", "np.float64(1.0)",
                          "np.int64(1)", "True", "np.True_", "Decimal('1.0')", "'1'"}) {
    INFO(one);
    CHECK(read("a b {'weight': " + std::string(one) + "}\n").bonds() == 1);
  }
  CHECK(read("a b 0x1p+0\nb c True\n").bonds() == 2);
  for (const char* other : {"-1", "0x1p+1", "exp(1)", "np.float64(0.5)", "False", "[1, 1]", "1e999",
                            "\xE2\x88\x92"
                            "1",
                            "None", "one"}) {
    const auto refused = edge_list_refusal("a b {'weight': " + std::string(other) + "}\n");
    INFO(other);
    CHECK(refused.says("edge attribute \"weight\""));
  }
}

TEST_CASE("attributes that hold numbers are refused in any notation, unless ignored") {
  for (const char* value :
       {"-1", "'-1'", "-1.", "np.int8(-1)", "[-1, 1]", "(1, 2)", "array([1., 2.])",
        "\xE2\x88\x92"
        "1",
        "0x1p+0", "-1e999"}) {
    const std::string text = "a b {'rank': " + std::string(value) + ", 'kind': 'x'}\n";
    const auto refused = edge_list_refusal(text);
    INFO(text << " -> " << refused.text);
    CHECK(refused.code == ExitCode::data);
    CHECK(refused.says("edge attribute \"rank\" ("));
    CHECK(refused.says("--ignore rank skips"));
    CHECK(read(text, {.ignore = {"rank"}}).bonds() == 1);
  }
  for (const char* value : {"'friend'", "True", "None", "'Room 5'", "(0, {'a': [1, 2]})", "''"}) {
    INFO(value);
    CHECK(read("a b {'kind': " + std::string(value) + "}\n").bonds() == 1);
  }
  CHECK(edge_list_refusal("a b {'x y': 1, 'my field': 2, 'z\xC3\xBC': 3}\n")
            .says("--ignore 'my field,x y,z\xC3\xBC' skips"));
  CHECK(read("a b {'my field': 2, 'z\xC3\xBC': 3}\n", {.ignore = {"my field", "z\xC3\xBC"}})
            .bonds() == 1);
}

TEST_CASE("very long comments, blanks and numbers are read") {
  const Graph graph = read("0 1 #" + std::string(1 << 22, 'x') + "\n" + std::string(1 << 20, ' ') +
                           "1 2\n" + std::string(1000, '0') + " 3\n");
  CHECK(graph.bonds() == 3);
}

TEST_CASE("any bytes give either a valid graph or Error(data)") {
  CHECK(oracle::counterexample(
            [] {
              // Mostly characters of edge lists, so that some lines are valid.
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

TEST_CASE("weights and fields of an edge list are J and h with the option `weights`") {
  const ReadOptions taken{.couplings = true};
  const auto units = [](std::vector<double> values) {
    std::vector<std::int32_t> fixed;
    for (const double value : values) fixed.push_back(to_fixed(value).value());
    return fixed;
  };
  const auto weights = [](const Graph& graph) {
    return std::vector<std::int32_t>(graph.bond_couplings().begin(), graph.bond_couplings().end());
  };
  const auto fields = [](const Graph& graph) {
    return std::vector<std::int32_t>(graph.site_fields().begin(), graph.site_fields().end());
  };
  const Graph columns = read("# field 2 -0.5\n0 1 -1\n1 2 0.25\n# field 0 1e-3\n2 0 0\n", taken);
  CHECK(weights(columns) == units({-1, 0.25, 0}));
  CHECK(fields(columns) == units({1e-3, 0, -0.5}));
  const Graph names = read("a b {'J': -1.5, 'kind': 'x'}\nb c {'J': np.float64(3)}\n", taken);
  CHECK(weights(names) == units({-1.5, 3}));
  CHECK(fields(names).empty());
  CHECK(weights(read("0,1,-\n1,2,+\n", taken)) == units({-1, 1}));
  CHECK(weights(read("a b {'antiferro': True}\nb c {'antiferro': 0}\n", taken)) == units({-1, 1}));
  const ReadOptions from_one{.first_site = FirstSite::one, .couplings = true};
  CHECK(fields(read("# field 1 2\n1 2 3\n", from_one)) == units({2, 0}));
  CHECK(weights(read("0 1 1023.999999\n", taken)).front() == 1024 * kFixedOne - 1);

  // A graph with all weights 1 equals one without weights. A bond without weight is accepted only
  // if all others have 1.
  CHECK(graph_hash(read("0 1 1\n1 2 1\n", taken)) == graph_hash(read("0 1\n1 2\n")));
  CHECK(weights(read("0 1 1\n1 2\n", taken)) == units({1, 1}));
  CHECK(weights(read("0 1\n1 2\n", taken)).empty());
  CHECK(graph_hash(read("0 1 1\n1 2 -1\n", taken)) != graph_hash(read("0 1\n1 2\n")));
  CHECK(graph_hash(read("0 1 -1\n1 2 1\n", taken)) != graph_hash(read("0 1 1\n1 2 -1\n", taken)));
  // The same numbers as weights and as fields give different graphs.
  CHECK(graph_hash(read("0 1 2\n1 2 2\n2 0 2\n", taken)) !=
        graph_hash(read("# field 0 2\n# field 1 2\n# field 2 2\n0 1\n1 2\n2 0\n", taken)));
  // Merged bonds need equal weights and keep this weight.
  const ReadOptions merged{.merge = true, .couplings = true};
  CHECK(weights(read("0 1 -2\n1 0 -2\n1 2 3\n", merged)) == units({-2, 3}));
  CHECK(weights(read("0 1\n1 0 -2\n", merged)) == units({-2}));
  CHECK(weights(read("0 1 2 x\n", {.ignore = {"weight", "column4"}, .couplings = true})).empty());
}

TEST_CASE("invalid weights and fields are refused with their line") {
  for (const auto& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {"0 1 1\n1 2 1024\n", "g.edges:2: invalid line: '1024' in column 3 is not a coupling"},
           {"0 1 -1024\n", "g.edges:1: invalid line: '-1024' in column 3 is not a coupling"},
           {"0 1 nan\n", "'nan' in column 3 is not a coupling"},
           {"0 1 inf\n", "'inf' in column 3 is not a coupling"},
           {"0 1 1e999\n", "'1e999' in column 3 is not a coupling"},
           {"0 1 1e-21\n", "'1e-21' in column 3 is not a coupling"},
           {"0 1 strong\n", "'strong' in column 3 is not a coupling"},
           {"0 1 False\n", "'False' in column 3 is not a coupling"},
           {"0 1 {'J': [1, 2]}\n", "edge attribute \"J\" ([1, 2] in line 1): couplings and fields"},
           {"0 1 {'J': 5000}\n", "edge attribute \"J\" (5000 in line 1): couplings and fields"},
           {"0 1 {'weight': 2, 'sign': -1}\n", "g.edges:1: \"weight\" is 2 and \"sign\" is -1"},
           {"0 1 {'h': 1}\n", "edge attribute \"h\" (1 in line 1)"},
           {"0 1 2\n1 2\n",
            "g.edges:2: this bond has no coupling, but the bond of line 1 has J = "
            "2"},
           {"0 1\n1 2 2\n",
            "g.edges:1: this bond has no coupling, but the bond of line 2 has J = "
            "2"},
           {"0 1 1e-5\n1 2 1e-5\n",
            "the largest of the couplings is 9.54e-06, and rounding "
            "changes it by up to 4.77e-07"},
           {"0 1 1e-7\n1 2 -1e-8\n", "g.edges: all couplings are 0 after rounding"},
           {"# field 0 1e-7\n0 1 2\n", "g.edges: all fields are 0 after rounding"},
           {"# field 5 1\n0 1\n", "g.edges:1: the field of site '5': out of range (sites 0 to 1)"},
           {"# field 1 1\n# field 1 2\n0 1\n",
            "g.edges:2: the field of site '1': it is already set in line 1"},
           {"# field 1 2000\n0 1\n", "node attribute \"field\" (2000 in line 1)"},
           {"# field 0 1\na b\n",
            "g.edges:1: the field of site '0': no bond has a site of this name"},
           {"# field a 1\n0 1\n", "the field of site 'a': sites have numbers in this list"},
           {"# field 5 1\n# Nodes: 2\n3 5\n",
            "the field of site '5': fields cannot be given to sites that have labels"}}) {
    const auto refused = edge_list_refusal(text, {.couplings = true});
    INFO(text << " -> " << refused.text);
    CHECK(refused.code == ExitCode::data);
    CHECK(refused.says(said));
  }
  CHECK(edge_list_refusal("0 1 2\n1 2 1\n1 0 3\n", {.merge = true, .couplings = true})
            .says("g.edges:3: the bond has J = 3 here and J = 2 in line 1"));
  // Without the option `weights`, the error names the first field and the options to use.
  const auto field = edge_list_refusal("# field 1 0.5\n0 1\n");
  CHECK(field.says("node attribute \"field\" (0.5 in line 1): --couplings file"));
  CHECK(field.says("--ignore field skips"));
  CHECK(read("# field 1 0.5\n0 1\n", {.ignore = {"field"}}).bonds() == 1);
  CHECK(read("# field 1 0.0\n# field of wheat\n0 1\n").bonds() == 1);
}

TEST_CASE("fields of edge lists: names, separators, spellings. Unclear comments are errors") {
  const ReadOptions taken{.couplings = true};
  const auto half = [&](const std::string& text) {
    const Graph graph = read(text, taken);
    const auto fields = graph.site_fields();
    INFO(text);
    REQUIRE(fields.size() == graph.sites());
    CHECK(fields[0] == 0);
    CHECK(fields[1] == to_fixed(0.5).value());
  };
  for (const std::string line :
       {"# field 1 0.5", "#field 1 0.5", "# Field 1 0.5", "# FIELDS: 1 0.5", "# field,1,0.5",
        "# field;1; 0.5", "# field 1 = 0.5", "% field 1 0.5", "## field\t1\t0.5\r"}) {
    half(line + "\n0 1\n");
    half("0 1  " + line + "\n");
  }
  half("# field B 0.5\nA B 1\nB C -1\n");
  half("A,B\nB,C\n# field, B, 0.5\n");
  half("# field (0, 1) 0.5\n(0, 0) (0, 1)\n");
  half("# field 'B, b' 0.5\nA 'B, b'\n");
  for (const std::string line : {"# field 0 abc", "# field 0 1 2", "# field 0",
                                 "# fields: 0 1, 1 2", "# field 1=0.5", "# field 0x 1 y"}) {
    const auto refused = edge_list_refusal(line + "\n0 1\n", taken);
    INFO(line << " -> " << refused.text);
    CHECK(refused.code == ExitCode::data);
    CHECK(refused.says("a field is written '# field SITE H'"));
    CHECK(read(line + "\n0 1\n", {.ignore = {"field"}, .all_ignored_exist = false}).bonds() == 1);
  }
  CHECK(read("# fields: FromNodeId ToNodeId\n0 1\n", taken).site_fields().empty());
}

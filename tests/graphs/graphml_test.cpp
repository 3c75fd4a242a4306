// GraphML: read as Boost.Graph reads it; what is unfit is refused.
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphml.hpp>
#include <sstream>

#include "graphs/graph_io.hpp"
#include "tests/graphs/bond_list.hpp"
#include "tests/graphs/files.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using oracle::all_bonds;
using oracle::refusal_of;

namespace {

// Boost.Graph's reader, as the verifier of ours.
std::vector<oracle::Pair> bonds_by_boost(const std::string& text) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> graph;
  std::istringstream in(text);
  boost::dynamic_properties ignored(&boost::ignore_other_properties);
  boost::read_graphml(in, graph, ignored);
  std::vector<oracle::Pair> bonds;
  for (auto [edge, end] = edges(graph); edge != end; ++edge) {
    bonds.emplace_back(source(*edge, graph), target(*edge, graph));
  }
  return bonds;
}

Graph from_graphml(const std::string& text) {
  std::istringstream in(text);
  return read_graphml(in, "bad.graphml");
}

}  // namespace

TEST_CASE("GraphML is read as Boost.Graph reads it") {
  const oracle::Folder folder;
  int number = 0;
  for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
    const Graph graph = build_graph({{8, 6}, 0.2, rule, 5});
    const std::string path = folder / (std::to_string(number++) + ".graphml");
    write_graph(graph, path);
    CHECK(all_bonds(read_graph(path)) == bonds_by_boost(oracle::contents(path)));
  }
}

TEST_CASE("GraphML from elsewhere: named nodes, other attributes, prefixes, edges before nodes") {
  const std::string text = R"(<?xml version="1.0" encoding="UTF-8"?>
<!-- a > path <of> three -- nodes -->
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="w" for="edge" attr.name="weight" attr.type="double"><default>1</default></key>
  <key id="x" for="graph" attr.name="x" attr.type="string"/>
  <graph id='G' edgedefault="undirected">
    <node id="alice"/> <node id="b&amp;b"><desc>one /> &lt;</desc></node> <node id = "carol"
    />
    <edge source="alice" target="b&amp;b"><data key="w"> 1.0
    </data></edge>
    <edge id=">" source="carol" target="b&amp;b" directed="false"/>
    <data key="x"><![CDATA[ <edge source="alice" target="carol"/> ]]></data>
  </graph>
</graphml>
)";
  const Graph graph = from_graphml(text);
  CHECK(graph.sites() == 3);
  CHECK(all_bonds(graph) == std::vector<oracle::Pair>{{0, 1}, {2, 1}});
  CHECK(all_bonds(graph) == bonds_by_boost(text));

  // write_graphml(path_graph(3)) of NetworkX, node ids as they are
  const std::string networkx = R"xml(<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns
  http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
  <key id="d1" for="edge" attr.name="kind" attr.type="string" />
  <key id="d0" for="edge" attr.name="weight" attr.type="long" />
  <graph edgedefault="undirected">
    <node id="(0, 0)" />
    <node id="n7" />
    <node id="1" />
    <edge source="(0, 0)" target="n7">
      <data key="d0">1</data>
      <data key="d1">friend</data>
    </edge>
    <edge source="n7" target="1" />
  </graph>
</graphml>
)xml";
  CHECK(all_bonds(from_graphml(networkx)) == std::vector<oracle::Pair>{{0, 1}, {1, 2}});

  const Graph early = from_graphml(
      "<g:graphml xmlns:g=\"x\"><g:graph edgedefault=\"undirected\"><g:edge source=\"b\" "
      "target=\"a\"/><g:node id=\"a\"/><g:node id=\"b\"/></g:graph></g:graphml>");
  CHECK(all_bonds(early) == std::vector<oracle::Pair>{{1, 0}});
}

TEST_CASE("couplings, fields and unknown numbers in GraphML are refused by name") {
  const auto refusal = [](const std::string& keys, const std::string& node,
                          const std::string& edge) {
    return refusal_of([&] {
      from_graphml("<graphml>\n" + keys + "\n<graph edgedefault=\"undirected\">\n<node id=\"a\">" +
                   node + "</node><node id=\"b\"/>\n<edge source=\"a\" target=\"b\">" + edge +
                   "</edge></graph></graphml>");
    });
  };
  const auto key = [](const std::string& id, const std::string& of, const std::string& name,
                      const std::string& type, const std::string& inside = "") {
    return "<key id=\"" + id + "\" for=\"" + of + "\" attr.name=\"" + name + "\" attr.type=\"" +
           type + "\">" + inside + "</key>";
  };
  const auto data = [](const std::string& id, const std::string& value) {
    return "<data key=\"" + id + "\">" + value + "</data>";
  };
  const std::string weight = key("d0", "edge", "weight", "long");
  const std::string field = key("d1", "node", "h", "double");
  const std::string price = key("d2", "edge", "price", "double");
  CHECK(refusal(weight + field, data("d1", "0.0"), data("d0", "1")).code == ExitCode::done);
  CHECK(refusal(weight + field + price, "", "").code == ExitCode::done);
  for (const auto& [refused, said] : std::vector<std::pair<oracle::Refusal, std::string>>{
           {refusal(weight, "", data("d0", "-1")), "edge attribute \"weight\" (-1 in line 5)"},
           {refusal(weight, "", data("d0", "\n<![CDATA[-1]]> ")), "\"weight\" (-1 in line 6)"},
           {refusal(weight, "", data("d0", "1<!-- --> 2")), "\"weight\" (1 2 in line 5)"},
           {refusal(weight, "", data("d0", "1<b/>2")), "\"weight\" (12 in line 5)"},
           {refusal(key("x", "edge", "J", "string"), "", data("x", "-1")), "\"J\" (-1 in line 5)"},
           {refusal(key("w", "edge", "weight", "int", "<default>2</default>"), "", ""),
            "edge attribute \"weight\" (2 in line 2)"},
           {refusal(field, data("d1", "0.5"), ""), "node attribute \"h\" (0.5 in line 4)"},
           {refusal("", "", data("weight", "3")), "edge attribute \"weight\" (3 in line 5)"},
           {refusal("", "", data("anything", "3")), "edge attribute \"anything\" (3 in line 5)"},
           {refusal(price, "", data("d2", "1")), "edge attribute \"price\" (1 in line 5)"},
           {refusal(key("s", "node", "spin", "int"), data("s", "-1"), ""), "\"spin\" (-1 in"},
           {refusal(weight + field, data("d1", "1"), data("d0", "2")),
            "edge attribute \"weight\" (2 in line 5), node attribute \"h\" (1 in line 4)"}}) {
    INFO(refused.text);
    CHECK(refused.code == ExitCode::data);
    CHECK(refused.says(said));
    CHECK(refused.says("bad.graphml: "));
    CHECK(refused.text.find('\n') == std::string::npos);
  }
  CHECK(refusal(key("s", "node", "colour", "int") + key("c", "edge", "club", "string"),
                data("s", "3"), data("c", "9"))
            .code == ExitCode::done);
}

TEST_CASE("unfit GraphML is refused with the file's name, in one line") {
  const std::string head = "<graphml><graph edgedefault=\"undirected\">";
  const std::string nodes = "<node id=\"a\"/>\n<node id=\"b\"/>", tail = "</graph></graphml>";
  const std::string loop = "<edge source=\"a\" target=\"a\"/>";
  const std::string bond = "<edge source=\"a\" target=\"b\"/>";
  CHECK(from_graphml(head + nodes + bond + tail).bonds() == 1);
  std::string deep;
  for (int k = 0; k < 200000; ++k) deep += "<a>";
  for (const std::string& text : std::vector<std::string>{
           "",
           " \n",
           "no XML",
           "<!-- -- ->",
           "<?xml",
           "<a/>",
           "<graphml/>",
           "<graphml></graphml>trailing",
           "<graphml></graphml><graphml/>",
           head,
           head + nodes,
           head + nodes + tail + ">",
           head + tail,
           head + nodes + "</graphml></graph>",
           head + nodes + loop + tail,
           head + nodes + bond + "<edge source=\"b\" target=\"a\"/>" + tail,
           head + nodes + "<node id=\"a\"/>" + tail,
           head + nodes + "<node/>" + tail,
           head + nodes + "<edge source=\"a\"/>" + tail,
           head + nodes + "<edge source=\"a\" target=\"c\"/>" + tail,
           head + nodes + "<edge source=\"a\" target=\"b\" directed=\"true\"/>" + tail,
           head + nodes + "<edge source=a target=b/>" + tail,
           head + nodes + "<edge source/>" + tail,
           head + nodes + "<hyperedge/>" + tail,
           head + "<graph edgedefault=\"undirected\"/>" + tail,
           "<graphml><graph edgedefault=\"directed\">" + nodes + bond + tail,
           "<graphml><graph>" + nodes + bond + tail,
           "<graphml><graph edgedefault=\"undirected>" + nodes + bond + tail,
           "<!DOCTYPE x [<!ENTITY a \"b\">]>" + head + nodes + tail,
           "<graphml " + std::string(100000, 'x') + "=\"\"/>",
           deep}) {
    const auto refused = refusal_of([&] { from_graphml(text); });
    INFO(text.substr(0, 200) << " -> " << refused.text);
    CHECK(refused.code == ExitCode::data);
    CHECK(refused.says("bad.graphml:"));
    CHECK(refused.text.find('\n') == std::string::npos);
  }
  CHECK(refusal_of([&] { from_graphml(head + nodes + loop + tail); }).says("bad.graphml:2: node"));
}

TEST_CASE("every truncation and many changes of GraphML make a graph or unfit data") {
  const oracle::Folder folder;
  write_graph(build_graph({{4, 4}, 0.3, Rule::rewire, 2}), folder / "g.graphml");
  const std::string text = oracle::contents(folder / "g.graphml");
  std::size_t refusals = 0;
  for (std::size_t k = 0; k + 2 < text.size(); ++k) {
    refusals += refusal_of([&] { from_graphml(text.substr(0, k)); }).code == ExitCode::data;
    for (const char letter : {'<', '>', '"', '/', 'n', '\0'}) {
      std::string changed = text;
      changed[k] = letter;
      const auto refused = refusal_of([&] { from_graphml(changed); });
      if (refused.code != ExitCode::done) CHECK(refused.code == ExitCode::data);
    }
  }
  CHECK(refusals == text.size() - 2);
}

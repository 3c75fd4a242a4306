// GraphML: read as by Boost.Graph; invalid files are refused.
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphml.hpp>
#include <span>
#include <sstream>

#include "graphs/graph_io.hpp"
#include "src/base/fixed_point.hpp"
#include "tests/graphs/bond_list.hpp"
#include "tests/graphs/files.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using oracle::all_bonds;
using oracle::refusal_of;

namespace {

// The bonds according to the reader of Boost.Graph, which verifies ours.
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

Graph from_graphml(const std::string& text, const ReadOptions& options = {}) {
  std::istringstream in(text);
  return read_graphml(in, "bad.graphml", options);
}

oracle::Refusal refusal(const std::string& text, const ReadOptions& options = {}) {
  return refusal_of([&] { from_graphml(text, options); });
}

const std::string kHead = "<graphml><graph edgedefault=\"undirected\">";
const std::string kNodes = "<node id=\"a\"/>\n<node id=\"b\"/>", kTail = "</graph></graphml>";
const std::string kBond = "<edge source=\"a\" target=\"b\"/>";

std::string utf16(const std::string& ascii) {
  std::string text = "\xFF\xFE";
  for (const char c : ascii) text += {c, '\0'};
  return text;
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

TEST_CASE("GraphML of other programs: names, attributes, prefixes, edges before nodes") {
  const std::string text = R"(<?xml version="1.0" encoding="UTF-8"?>
<!-- a > path <of> three nodes -->
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

  // write_graphml(path_graph(3)) of NetworkX, with its node ids
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
  const auto key = [](const std::string& id, const std::string& object, const std::string& name,
                      const std::string& type, const std::string& inside = "") {
    return "<key id=\"" + id + "\" for=\"" + object + "\" attr.name=\"" + name + "\" attr.type=\"" +
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
                data("s", "3"), data("c", "nine"))
            .code == ExitCode::done);
}

TEST_CASE("numbers in GraphML are refused for any declared type, unless ignored") {
  const auto text = [](const std::string& type, const std::string& value,
                       const std::string& object = "edge", const std::string& name = "rank") {
    return "<graphml>\n<key id=\"d0\" for=\"" + object + "\" attr.name=\"" + name + "\"" + type +
           "/>" + "<graph edgedefault=\"undirected\">" +
           (object == "graph" ? "<data key=\"d0\">" + value + "</data>" : "") + kNodes +
           "<edge source=\"a\" target=\"b\">" +
           (object == "edge" ? "<data key=\"d0\">" + value + "</data>" : "") + "</edge>" + kTail;
  };
  for (const char* type : {"int", "integer", "short", "long", "float", "double", "decimal",
                           "string", "boolean", "xs:int", "vector_double", "python::object", ""}) {
    const std::string typed = *type ? " attr.type=\"" + std::string(type) + "\"" : "";
    for (const char* value : {"-1", " -1. ", "0x1p+0", "1, -1", "[1, -1]", "-1D0"}) {
      const auto refused = refusal(text(typed, value));
      INFO(type << " " << value << ": " << refused.text);
      CHECK(refused.code == ExitCode::data);
      CHECK(refused.says("edge attribute \"rank\" ("));
      CHECK(refused.says("--ignore rank skips"));
      CHECK(from_graphml(text(typed, value), {.ignore = {"other", "rank"}}).bonds() == 1);
    }
  }
  CHECK(refusal(text("", "-1", "graph")).says("graph attribute \"rank\" (-1 in line 2)"));
  CHECK(from_graphml(text("", "true")).bonds() == 1);
  CHECK(from_graphml(text("", "friend")).bonds() == 1);
  const auto sign = [&](const std::string& type, const std::string& value) {
    return text(type.empty() ? "" : " attr.type=\"" + type + "\"", value, "edge", "sign");
  };
  CHECK(refusal(sign("", "friend")).says("edge attribute \"sign\" (friend in line 3)"));
  CHECK(refusal(sign("", "")).says("edge attribute \"sign\" (no value in line 3)"));
  CHECK(refusal(sign("boolean", "false")).says("edge attribute \"sign\" (false in line 3)"));
  CHECK(refusal(sign("string", "-")).says("edge attribute \"sign\" (- in line 3)"));
  CHECK(from_graphml(sign("string", "-"), {.ignore = {"sign"}}).bonds() == 1);
  CHECK(from_graphml(sign("string", "+")).bonds() == 1);
  CHECK(from_graphml(sign("int", "1")).bonds() == 1);
  // Invalid GraphML that people write by hand.
  const std::string edge = "<edge source=\"a\" target=\"b\" ";
  CHECK(refusal(kHead + kNodes + edge + "weight=\"-1\"/>" + kTail)
            .says("edge attribute \"weight\" (-1 in line 2)"));
  CHECK(refusal(kHead + "<node id=\"c\" h=\"0.5\"/>" + kTail).says("node attribute \"h\" (0.5 in"));
  CHECK(from_graphml(kHead + kNodes + edge + "weight=\"1\" id=\"7\" xml:id=\"8\" label=\"9\"/>" +
                     kTail)
            .bonds() == 1);
}

TEST_CASE("text as the value of a key of numeric type is refused with its line") {
  const auto text = [](const std::string& type, const std::string& inside,
                       const std::string& value) {
    return "<graphml>\n<key id=\"d0\" for=\"edge\" attr.name=\"length\" attr.type=\"" + type +
           "\">" + inside + "</key>\n<graph edgedefault=\"undirected\">\n" + kNodes +
           "\n<edge source=\"a\" target=\"b\">" + value + "</edge>" + kTail;
  };
  for (const char* type :
       {"int", "integer", "long", "short", "float", "double", "decimal", "xs:double", "boolean"}) {
    const auto refused = refusal(text(type, "", "<data key=\"d0\">abc</data>"));
    INFO(type << " " << refused.text);
    CHECK(refused.code == ExitCode::data);
    CHECK(refused.says("bad.graphml:6: edge attribute \"length\" has attr.type=\"" +
                       std::string(type) + "\" and the value \"abc\""));
    CHECK(refused.says("--ignore length skips this attribute"));
    CHECK(from_graphml(text(type, "", "<data key=\"d0\">abc</data>"), {.ignore = {"length"}})
              .bonds() == 1);
  }
  CHECK(refusal(text("double", "<default>abc</default>", "")).says("bad.graphml:2: default of"));
  CHECK(from_graphml(text("string", "", "<data key=\"d0\">abc</data>")).bonds() == 1);
  CHECK(from_graphml(text("boolean", "", "<data key=\"d0\">true</data>")).bonds() == 1);
  CHECK(from_graphml(text("double", "", "<data key=\"d0\"/>")).bonds() == 1);
  // Numbers of the declared type are refused as numbers of unknown meaning.
  CHECK(refusal(text("double", "", "<data key=\"d0\">NaN</data>"))
            .says("\"length\" (NaN in line 6)"));
}

TEST_CASE("keys of GraphML are attributes that may be ignored, even if no element uses them") {
  const std::string text = "<graphml><key id=\"d0\" for=\"edge\" attr.name=\"rank\"/>" +
                           std::string("<graph edgedefault=\"undirected\">") + kNodes +
                           "<edge source=\"a\" target=\"b\" J=\"2\"/>" + kTail;
  CHECK(from_graphml(text, {.ignore = {"rank", "J"}, .all_ignored_exist = true}).bonds() == 1);
  const auto refused = refusal(text, {.ignore = {"h", "J"}, .all_ignored_exist = true});
  CHECK(refused.code == ExitCode::usage);
  CHECK(refused.says("--ignore h: the file has no such attribute (it has \"J\", \"rank\")"));
}

TEST_CASE("an export of Gephi is read if its colours and statistics are ignored") {
  const auto key = [](const std::string& id, const std::string& object, const std::string& type) {
    return "<key attr.name=\"" + id + "\" attr.type=\"" + type + "\" for=\"" + object + "\" id=\"" +
           id + "\"/>";
  };
  const std::string text =
      "<graphml>\n" + key("label", "node", "string") + key("Edge Id", "edge", "string") +
      key("weight", "edge", "double") + key("r", "node", "int") + key("b", "node", "int") +
      key("Degree", "node", "int") + "<graph edgedefault=\"undirected\">" + kNodes +
      "<node id=\"c\"><data key=\"label\">3</data><data key=\"r\">9"
      "</data><data key=\"b\">8</data><data key=\"Degree\">1</data></node><edge id=\"5\" "
      "source=\"a\" target=\"b\">"
      "<data key=\"Edge Id\">5</data><data key=\"weight\">1.0</data></edge>" +
      kTail;
  CHECK(refusal(text).says("--ignore Degree,b,r skips"));
  CHECK(from_graphml(text, {.ignore = {"Degree", "b", "r"}}).sites() == 3);
}

TEST_CASE("defaults count only for elements without a value") {
  const auto text = [](const std::string& key, const std::string& data) {
    return "<graphml>\n<key id=\"w\" " + key + " attr.name=\"weight\"><default>2</default></key>" +
           "<graph edgedefault=\"undirected\">" + kNodes + "<edge source=\"a\" target=\"b\">" +
           data + "</edge>" + kTail;
  };
  CHECK(refusal(text("for=\"edge\"", "")).says("edge attribute \"weight\" (2 in line 2)"));
  CHECK(refusal(text("for=\"node\"", "")).says("node attribute \"weight\" (2 in line 2)"));
  CHECK(refusal(text("for=\"all\"", "")).says("edge attribute \"weight\" (2 in line 2)"));
  CHECK(from_graphml(text("for=\"edge\"", "<data key=\"w\">1</data>")).bonds() == 1);
  CHECK(from_graphml(text("for=\"port\"", "")).bonds() == 1);
  CHECK(from_graphml("<graphml><key id=\"w\" for=\"edge\"><default>2</default></key>"
                     "<graph edgedefault=\"undirected\">" +
                     kNodes + kTail)
            .bonds() == 0);
}

TEST_CASE("drawings of yEd are skipped, but other numbers are detected") {
  const auto text = [](const std::string& keys, const std::string& data) {
    return "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" "
           "xmlns:y=\"http://www.yworks.com/xml/graphml\">" +
           keys + "<graph edgedefault=\"undirected\"><node id=\"a\">" + data +
           "</node><node id=\"b\"/>" + kBond + kTail;
  };
  const std::string graphics = "<key for=\"node\" id=\"d6\" yfiles.type=\"nodegraphics\"/>";
  const std::string shape =
      "<y:ShapeNode><y:NodeLabel x=\"3\">1</y:NodeLabel><y:data key=\"w\">2</y:data>"
      "<y:node id=\"z\"/></y:ShapeNode>";
  CHECK(from_graphml(text(graphics, "<data key=\"d6\">" + shape + "</data>")).sites() == 2);
  CHECK(from_graphml(text(graphics, "<data key=\"d6\"> " + shape + "2" + shape + " </data>"))
            .sites() == 2);
  CHECK(refusal(text("<key for=\"node\" id=\"d6\" attr.name=\"h\"/>",
                     "<data key=\"d6\">" + shape + "</data>"))
            .says("node attribute \"h\""));
  CHECK(from_graphml(
            text("", "<data key=\"d6\"><svg xmlns=\"http://www.w3.org/2000/svg\">5</svg></data>"))
            .sites() == 2);
  CHECK(
      refusal(text("", "<data key=\"d6\"><v>-1</v></data>")).says("node attribute \"d6\" (-1 in"));
  CHECK(refusal(text("", "<y:x/><data key=\"h\">1</data>")).says("node attribute \"h\" (1 in"));
}

TEST_CASE("XML is read as XML: references, entities, encodings, booleans") {
  const auto pair = [](const std::string& id, const std::string& again) {
    return kHead + "<node id=\"" + id + "\"/><node id=\"b\"/><edge source=\"" + again +
           "\" target=\"b\"/>" + kTail;
  };
  CHECK(from_graphml(pair("R&#38;D", "R&amp;D")).bonds() == 1);
  CHECK(from_graphml(pair("J&#252;rgen", "J\xC3\xBCrgen")).bonds() == 1);
  CHECK(from_graphml(pair("&#x6c49;", "\xE6\xB1\x89")).bonds() == 1);
  CHECK(from_graphml(utf16(pair("a", "a"))).bonds() == 1);
  CHECK(from_graphml("\xEF\xBB\xBF" + pair("a", "a")).bonds() == 1);
  CHECK(from_graphml("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>" +
                     pair("J\xFCrgen", "J&#252;rgen"))
            .bonds() == 1);
  CHECK(from_graphml("<!DOCTYPE graphml [<!ENTITY rd \"R&#38;#38;D\">]>" + pair("R&amp;D", "&rd;"))
            .bonds() == 1);
  const std::string outer =
      "<!DOCTYPE graphml SYSTEM \"http://graphml.graphdrawing.org/dtds/1.0rc/graphml.dtd\">";
  CHECK(from_graphml(outer + pair("R&amp;D", "R&#38;D")).bonds() == 1);
  CHECK(from_graphml(kHead + "<node xml:id=\"x\" id=\"a\"/><node id=\"b\"/>" + kBond + kTail)
            .bonds() == 1);

  const auto directed = [](const std::string& of_graph, const std::string& of_edge) {
    return "<graphml><graph" + of_graph + ">" + kNodes + "<edge" + of_edge +
           " source=\"a\" target=\"b\"/>" + kTail;
  };
  for (const char* word : {"false", "0", " false "}) {
    const std::string no = " directed=\"" + std::string(word) + "\"";
    CHECK(from_graphml(directed(" edgedefault=\"undirected\"", no)).bonds() == 1);
    CHECK(from_graphml(directed(" edgedefault=\"directed\"", no)).bonds() == 1);
  }
  for (const char* word : {"true", "1"}) {
    CHECK(
        refusal(directed(" edgedefault=\"undirected\"", " directed=\"" + std::string(word) + "\""))
            .says("bad.graphml:2: the edge from node \"a\" to \"b\" is directed"));
  }
  CHECK(refusal(directed(" edgedefault=\"directed\"", "")).says("edgedefault=\"undirected\""));
  CHECK(refusal(directed(" edgedefault=\"directed\"", "")).says("--merge combines all"));
  CHECK(from_graphml(directed(" edgedefault=\"directed\"", ""), {.merge = true}).bonds() == 1);
  const std::string both = "<graphml><graph edgedefault=\"directed\">" + kNodes + kBond +
                           "<node id=\"c\"/><edge source=\"b\" target=\"a\"/>" +
                           "<edge source=\"c\" target=\"b\"/>" + kTail;
  CHECK(all_bonds(from_graphml(both, {.merge = true})) ==
        std::vector<oracle::Pair>{{0, 1}, {2, 1}});
  CHECK(refusal(directed(" edgedefault=\"undirected\"", " directed=\"maybe\""))
            .says("directed=\"maybe\""));

  // External entities must not be followed, and expansion must be limited.
  std::string laughs = "<!DOCTYPE graphml [<!ENTITY l0 \"" + std::string(1000, 'x') + "\">";
  for (int k = 1; k < 12; ++k) {
    laughs += "<!ENTITY l" + std::to_string(k) + " \"";
    for (int n = 0; n < 10; ++n) laughs += "&l" + std::to_string(k - 1) + ";";
    laughs += "\">";
  }
  std::string chain = "<!DOCTYPE graphml [<!ENTITY c0 \"x\">";
  for (int k = 1; k < 100000; ++k) {
    chain += "<!ENTITY c" + std::to_string(k) + " \"&c" + std::to_string(k - 1) + ";\">";
  }
  for (const auto& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {"<!DOCTYPE graphml [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>" + pair("a", "a"),
            "bad.graphml:1: the entity 'e' is in another file, 'file:///etc/passwd'"},
           {"<!DOCTYPE graphml [<!ENTITY % e SYSTEM \"x.dtd\"> %e;]>" + pair("a", "a"),
            "the entity 'e'"},
           {outer + pair("a&uuml;", "a&auml;"), "the entity '&uuml;' is not declared here"},
           {outer + kHead + "<node id=\"a\"><desc>&uuml;</desc></node>" + kTail,
            "the entity '&uuml;'"},
           {pair("a&uuml;", "a"), "undefined entity"},
           {laughs + "]>" + pair("a", "a&l11;"), "not GraphML: limit on input amplification"},
           {laughs + "]>" + kHead + "<desc>&l11;</desc>" + kTail,
            "not GraphML: limit on input amplification"},
           {chain + "]>" + kHead + "<desc>&c99999;</desc>" + kTail, "more than 1000 entities"},
           {"<graphml><!--" + std::string(4 << 20, 'x') + "--></graphml>",
            "tag or comment is longer than"},
           {"<graphml a=\"" + std::string(4 << 20, 'x'), "tag or comment is longer than"}}) {
    const auto refused = refusal(text);
    INFO(text.substr(0, 200) << " -> " << refused.text);
    CHECK(refused.code == ExitCode::data);
    CHECK(refused.says(said));
    CHECK(refused.text.find('\n') == std::string::npos);
  }
}

TEST_CASE("messages name line, identifier and character, and double bonds may be merged") {
  CHECK(refusal(kHead + kNodes + "\n<edge source=\"a\" target=\"\"/>" + kTail)
            .says("bad.graphml:3: an edge joins node \"\", which is not declared"));
  CHECK(refusal(kHead + "<edge source=\"a\" target=\"c\"/>\n" + kNodes + kBond + kTail)
            .says("bad.graphml:1: an edge joins node \"c\", which is not declared"));
  CHECK(
      refusal(kHead + kNodes + "\n<edge source=a/>" + kTail)
          .says("bad.graphml:3: not GraphML: not well-formed (invalid token) (column 14, at 'a')"));
  CHECK(refusal(kHead + "\n<node id=\"\xFC\"/>" + kTail).says("at the byte 0xfc"));
  const std::string twice = kHead + kNodes + kBond + "\n<edge source=\"b\" target=\"a\"/>" + kTail;
  CHECK(refusal(twice).says(
      "bad.graphml:3: nodes \"b\" and \"a\" are already joined by line 2 (--merge"));
  CHECK(from_graphml(twice, {.merge = true}).bonds() == 1);
  const auto control = refusal(kHead + "<node id=\"x&#10;y\"/>" + "<node id=\"x&#10;y\"/>" + kTail);
  CHECK(control.says("node \"x?y\" occurs twice"));
}

TEST_CASE("invalid GraphML is refused in one line that names the file") {
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
           "<!DOCTYPE x [<!ENTITY a SYSTEM \"b\">]>" + head + nodes + tail,
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

TEST_CASE("every truncation and many changes of GraphML give a graph or Error(data)") {
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

TEST_CASE("weights and fields of GraphML are J and h with the option `weights`") {
  const ReadOptions taken{.couplings = true};
  const auto graph = [](const std::string& keys, const std::string& rest) {
    return "<graphml>" + keys + "\n<graph edgedefault=\"undirected\">" + rest + kTail;
  };
  const auto values = [](std::span<const std::int32_t> fixed) {
    std::vector<double> found(fixed.begin(), fixed.end());
    for (double& value : found) value *= kFixedUnit;
    return found;
  };
  using Values = std::vector<double>;
  const std::string keys =
      "<key id=\"w\" for=\"edge\" attr.name=\"weight\" attr.type=\"double\"><default>-2</default>"
      "</key><key id=\"f\" for=\"node\" attr.name=\"Field\"><default>0.5</default></key>";
  // Nodes after edges, values before and after defaults.
  const Graph read =
      from_graphml(graph(keys,
                         "<edge source=\"a\" target=\"b\"><data key=\"w\">0x1p-1</data></edge>"
                         "<edge source=\"c\" target=\"a\"/><node id=\"b\"/>"
                         "<node id=\"c\"><data key=\"f\">-3</data></node><node id=\"a\"/>"),
                   taken);
  CHECK(all_bonds(read) == std::vector<oracle::Pair>{{2, 0}, {1, 2}});
  CHECK(values(read.bond_couplings()) == Values{0.5, -2});
  CHECK(values(read.site_fields()) == Values{0.5, -3, 0.5});
  CHECK(values(from_graphml(graph("", kNodes + "<edge source=\"a\" target=\"b\" J=\"-1\"/>"), taken)
                   .bond_couplings()) == Values{-1});
  const std::string sign = "<key id=\"s\" for=\"edge\" attr.name=\"sign\"/>";
  const auto edge = [](const std::string& value) {
    return "<edge source=\"a\" target=\"b\"><data key=\"s\">" + value + "</data></edge>\n";
  };
  CHECK(values(from_graphml(graph(sign, kNodes + edge("-")), taken).bond_couplings()) ==
        Values{-1});
  CHECK(from_graphml(graph(sign, kNodes + edge("-")), {.ignore = {"sign"}, .couplings = true})
            .bond_couplings()
            .empty());
  const ReadOptions merged{.merge = true, .couplings = true};
  CHECK(values(
            from_graphml(graph(sign, kNodes + edge("-3") + edge("-3")), merged).bond_couplings()) ==
        Values{-3});

  for (const auto& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {graph(sign, kNodes + edge("-3") + edge("-2")), "J = -2 here and J = -3 in line 3"},
           {graph(sign, kNodes + edge("1024")), "\"sign\" (1024 in line 3): couplings and fields"},
           {graph(sign, kNodes + edge("friend")), "\"sign\" (friend in line 3): couplings and"},
           {graph(sign, kNodes + "<edge source=\"a\" target=\"b\" J=\"2\"><data key=\"s\">-1</data>"
                                 "</edge>"),
            "bad.graphml:3: \"J\" is 2 and \"sign\" is -1"},
           {graph(sign,
                  kNodes + "<node id=\"c\"/>" + edge("2") + "<edge source=\"c\" target=\"b\"/>"),
            "bad.graphml:4: this bond has no coupling, but the bond of line 3 has J = 2"},
           {graph("", "<node id=\"c\" h=\"x\"/>"), "node attribute \"h\" (x in line 2): couplings"},
           {graph("", "<node id=\"c\" weight=\"2\"/>"), "node attribute \"weight\" (2 in line 2)"},
           {graph("", "<node id=\"c\" b=\"2\"/>"), "node attribute \"b\" (2 in line 2)"},
           {"<graphml><graph edgedefault=\"undirected\">" + kNodes + edge("1") + "</graph>" + sign +
                "</graphml>",
            "<key> of \"sign\" after the first node"}}) {
    const auto refused = refusal(text, merged);
    INFO(text << " -> " << refused.text);
    CHECK(refused.code == ExitCode::data);
    CHECK(refused.says(said));
    CHECK(refused.text.find('\n') == std::string::npos);
  }
}

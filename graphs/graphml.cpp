// Reads and writes GraphML (http://graphml.graphdrawing.org): one undirected graph of nodes and
// edges. Data of theirs that would make another model are refused (attributes.hpp); other data and
// ports are passed over. Nodes are numbered in the order in which they are declared. Streaming:
// memory grows with the graph, not with the text (Boost's reader, which builds the whole document
// first, takes 13 GB for the 2e6 bonds of L = 1024; the tests compare with it).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "graphs/attributes.hpp"
#include "graphs/colouring.hpp"
#include "graphs/flat_map.hpp"
#include "graphs/graph_io.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

// The tags of an XML document as a stream: names and attributes, and text where it is asked for;
// comments, processing instructions and other text are passed over. Nothing recurses, and memory is
// bounded by one tag, kMaxText and kMaxDepth names, whatever the input. Document types (which may
// expand without bound) are refused, as is everything that is not well formed. Namespace prefixes
// are dropped.
class XmlTags {
 public:
  static constexpr std::size_t kMaxDepth = 100, kMaxTag = 1 << 16, kMaxText = 256;

  // `name` stands for the file in errors (Error(data) with file and line).
  XmlTags(std::istream& in, const std::string& name) : in_(*in.rdbuf()), name_(name) {}

  // Moves to the next start or end tag (<a/> gives both); false at the end of the document.
  bool next();

  bool is_start() const { return start_; }
  const std::string& tag() const { return tag_; }
  std::size_t depth() const { return open_.size(); }  // with this element, if it is a start tag
  // The value of an attribute of a start tag, or null.
  const std::string* attribute(const char* key) const;
  // Text from here on, in CDATA or not, is kept (its first kMaxText characters and a bit; stretches
  // of blanks as one, none at the ends).
  void keep_text();
  std::string take_text();  // what was kept; nothing is from here on
  std::uint64_t line() const { return line_; }
  [[noreturn]] void fail(const std::string& what) const;

 private:
  int get();
  void keep(int c);
  void expect(const char* text);
  void skip_past(const char* mark, bool is_text = false);
  int skip_blanks();
  std::string read_name(int first);
  std::string read_value(char quote);
  void read_start(int first);
  void read_end();
  void close(const std::string& tag);

  std::streambuf& in_;
  const std::string& name_;
  std::uint64_t line_ = 1;
  std::size_t length_ = 0;  // characters of the present tag
  bool start_ = false, empty_ = false, seen_root_ = false, keeps_ = false;
  std::string tag_, text_;
  std::vector<std::pair<std::string, std::string>> attributes_;
  std::vector<std::string> open_;
};

constexpr int kEnd = std::char_traits<char>::eof();

bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_name(int c) {
  return c >= 0x80 || std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == ':';
}

// &lt; &gt; &amp; &quot; &apos;. Others stay as they are: ids need only be told apart.
std::string decoded(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities{
      {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}}};
  std::string result;
  for (std::size_t k = 0; k < text.size();) {
    const std::string_view rest = std::string_view(text).substr(k);
    std::size_t used = 1;
    char letter = text[k];
    for (const auto& [entity, meaning] : kEntities) {
      if (rest.substr(0, entity.size()) != entity) continue;
      used = entity.size();
      letter = meaning;
    }
    result += letter;
    k += used;
  }
  return result;
}

void XmlTags::fail(const std::string& what) const {
  throw Error(ExitCode::data, fmt::format("{}:{}: {}", name_, line_, what));
}

int XmlTags::get() {
  const int c = in_.sbumpc();
  if (c == '\n') ++line_;
  if (++length_ > kMaxTag) fail(fmt::format("not GraphML: a tag of over {} characters", kMaxTag));
  return c;
}

void XmlTags::expect(const char* text) {
  for (; *text; ++text) {
    if (get() != *text) fail("not GraphML: a tag that is not well formed");
  }
}

void XmlTags::keep_text() {
  keeps_ = true;
  text_.clear();
}

std::string XmlTags::take_text() {
  keeps_ = false;
  if (text_.ends_with(' ')) text_.pop_back();
  return decoded(text_);
}

void XmlTags::keep(int c) {
  if (!keeps_ || text_.size() > kMaxText) return;
  if (!is_blank(c)) {
    text_ += static_cast<char>(c);
  } else if (!text_.empty() && text_.back() != ' ') {
    text_ += ' ';
  }
}

// Passes over everything up to and including `mark`.
void XmlTags::skip_past(const char* mark, bool is_text) {
  const std::string_view end(mark);
  std::string last;
  while (last != end) {
    length_ = 0;
    const int c = get();
    if (c == kEnd) fail(fmt::format("not GraphML: the file ends before {}", end));
    last += static_cast<char>(c);
    if (last.size() <= end.size()) continue;
    if (is_text) keep(static_cast<unsigned char>(last.front()));
    last.erase(0, 1);
  }
}

int XmlTags::skip_blanks() {
  int c = get();
  while (is_blank(c)) c = get();
  return c;
}

std::string XmlTags::read_name(int first) {
  if (!is_name(first)) fail("not GraphML: a tag that is not well formed");
  std::string name(1, static_cast<char>(first));
  while (in_.sgetc() != kEnd && is_name(in_.sgetc())) name += static_cast<char>(get());
  const std::size_t colon = name.find(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

std::string XmlTags::read_value(char quote) {
  std::string value;
  for (int c = get(); c != quote; c = get()) {
    if (c == kEnd || c == '<') fail("not GraphML: a value without its closing quote");
    value += static_cast<char>(c);
  }
  return decoded(value);
}

void XmlTags::read_start(int first) {
  if (open_.empty() && seen_root_) fail("not GraphML: more than one root element");
  seen_root_ = true;
  tag_ = read_name(first);
  attributes_.clear();
  start_ = true;
  int c = skip_blanks();
  while (c != '>' && c != '/') {
    std::string key = read_name(c);
    if (skip_blanks() != '=') fail("not GraphML: an attribute without a value");
    const int quote = skip_blanks();
    if (quote != '"' && quote != '\'') fail("not GraphML: a value without quotes");
    attributes_.emplace_back(std::move(key), read_value(static_cast<char>(quote)));
    c = skip_blanks();
  }
  empty_ = c == '/';
  if (empty_) expect(">");
  if (open_.size() >= kMaxDepth) fail("not GraphML: elements nest too deeply");
  open_.push_back(tag_);
}

void XmlTags::read_end() {
  tag_ = read_name(get());
  if (skip_blanks() != '>') fail("not GraphML: an end tag that is not well formed");
  close(tag_);
}

void XmlTags::close(const std::string& tag) {
  if (open_.empty() || open_.back() != tag) {
    fail(fmt::format("not GraphML: </{}> closes no such element", tag));
  }
  open_.pop_back();
  start_ = false;
}

bool XmlTags::next() {
  if (start_ && empty_) {
    empty_ = false;
    close(tag_);
    return true;
  }
  while (true) {
    length_ = 0;
    int c = get();
    while (c != '<' && c != kEnd) {
      if (open_.empty() && !is_blank(c) && c < 0x80) fail("not GraphML: text outside of elements");
      keep(c);
      length_ = 0;
      c = get();
    }
    if (c == kEnd) {
      if (!open_.empty()) fail(fmt::format("not GraphML: <{}> is not closed", open_.back()));
      if (!seen_root_) fail("not GraphML: the file holds no element");
      return false;
    }
    c = get();
    if (c == '?') {
      skip_past("?>");
    } else if (c == '!') {
      c = get();
      if (c == '-') {
        expect("-");
        skip_past("-->");
      } else if (c == '[') {
        expect("CDATA[");
        skip_past("]]>", true);
      } else {
        fail("not GraphML that is read here: a document type");
      }
    } else if (c == '/') {
      read_end();
      return true;
    } else {
      read_start(c);
      return true;
    }
  }
}

const std::string* XmlTags::attribute(const char* key) const {
  for (const auto& [name, value] : attributes_) {
    if (name == key) return &value;
  }
  return nullptr;
}

class GraphmlReader {
 public:
  GraphmlReader(std::istream& in, const std::string& name) : tags_(in, name), name_(name) {}

  Graph read() {
    while (tags_.next()) {
      tags_.is_start() ? take(tags_.tag()) : leave(tags_.tag());
    }
    if (graphs_ == 0) throw Error(ExitCode::data, name_ + ": not GraphML: it holds no graph");
    if (declared_ == 0) throw Error(ExitCode::data, name_ + ": holds no site");
    attributes_.refuse(name_);
    for (RewiredBond& bond : bonds_) {  // from the order of mention to the order of declaration
      bond.a = declared_site(bond.a, bond.bond);
      bond.b = declared_site(bond.b, bond.bond);
    }
    return imported_graph(declared_, std::move(bonds_), name_);
  }

 private:
  static constexpr Site kUndeclared = 0xFFFFFFFFu;

  void take(const std::string& tag) {
    if (tags_.depth() == 1 && tag != "graphml") {
      tags_.fail(fmt::format("not GraphML: the root element is <{}>", tag));
    }
    if (tag == "graph") take_graph();
    if (tag == "node") take_node();
    if (tag == "edge") take_edge();
    if (tag == "hyperedge") tags_.fail("a hyperedge: only edges between two nodes are allowed");
    if (tag == "key") take_key();
    if (tag == "node" || tag == "edge") owner_ = {tag, tags_.depth()};
    if (tag == "data" && !owner_.tag.empty() && tags_.depth() == owner_.depth + 1) {
      const std::string* id = tags_.attribute("key");
      data_ = id ? *id : "";
      tags_.keep_text();
    }
    if (tag == "default" && in_key_) tags_.keep_text();
  }

  // At an end tag, whose element counts towards the depth no more.
  void leave(const std::string& tag) {
    if (tag == "data" && tags_.depth() == owner_.depth && !owner_.tag.empty()) {
      const auto key = keys_.find(data_);
      see(owner_.tag, key == keys_.end() ? Key{data_} : key->second);
    }
    if (tag == "default" && in_key_) see(in_key_->owner, *in_key_);
    if (tag == "key") in_key_ = nullptr;
    if (tag == owner_.tag && tags_.depth() + 1 == owner_.depth) owner_ = {};
  }

  struct Key {
    std::string name;
    ValueKind kind = ValueKind::unknown;
    std::string owner = {};  // "node" or "edge"; "" where it is for neither
  };

  void take_key() {
    const std::string *id = tags_.attribute("id"), *name = tags_.attribute("attr.name"),
                      *type = tags_.attribute("attr.type"), *owner = tags_.attribute("for");
    Key key{name ? *name : id ? *id : ""};
    if (type) {
      const bool number =
          *type == "int" || *type == "long" || *type == "float" || *type == "double";
      key.kind = number ? ValueKind::number : ValueKind::text;
    }
    if (!owner || *owner == "all" || *owner == "node") key.owner = "node";
    if (owner && *owner == "edge") key.owner = "edge";
    in_key_ = &keys_.insert_or_assign(id ? *id : "", std::move(key)).first->second;
  }

  void see(const std::string& owner, const Key& key) {
    const std::string value = tags_.take_text();
    if (value.empty() || owner.empty()) return;
    attributes_.see(owner, key.name, value, key.kind, tags_.line());
  }

  void take_graph() {
    if (++graphs_ > 1) tags_.fail("more than one graph");
    const std::string* direction = tags_.attribute("edgedefault");
    if (!direction || *direction != "undirected") {
      tags_.fail("the graph must have edgedefault=\"undirected\"");
    }
  }

  void take_node() {
    Site& number = numbers_[mentioned(required("id"))];
    if (number != kUndeclared) tags_.fail(fmt::format("node \"{}\" twice", required("id")));
    number = declared_++;
  }

  void take_edge() {
    const std::string* directed = tags_.attribute("directed");
    if (directed && *directed != "false") tags_.fail("a directed edge in an undirected graph");
    const Site u = mentioned(required("source")), v = mentioned(required("target"));
    if (u == v) tags_.fail(fmt::format("node \"{}\" is joined to itself", required("source")));
    if (!joined_.put(std::uint64_t{std::min(u, v)} << 32 | std::max(u, v))) {
      tags_.fail(fmt::format("nodes \"{}\" and \"{}\" are joined already", required("source"),
                             required("target")));
    }
    bonds_.push_back({bonds_.size(), u, v});
  }

  const std::string& required(const char* key) const {
    const std::string* value = tags_.attribute(key);
    if (!value) tags_.fail(fmt::format("<{}> without {}", tags_.tag(), key));
    return *value;
  }

  // Nodes in the order in which they are first named; an edge may come before its nodes.
  Site mentioned(const std::string& id) {
    const auto [place, is_new] = mentions_.try_emplace(id, static_cast<Site>(numbers_.size()));
    if (is_new) {
      if (numbers_.size() >= kMaxSites) tags_.fail("too many sites");
      numbers_.push_back(kUndeclared);
    }
    return place->second;
  }

  Site declared_site(Site mention, Bond edge) const {
    if (numbers_[mention] == kUndeclared) {
      throw Error(ExitCode::data,
                  fmt::format("{}: edge number {} joins a node that is not declared", name_, edge));
    }
    return numbers_[mention];
  }

  struct Owner {
    std::string tag = {};  // "node" or "edge"; "" outside of both
    std::size_t depth = 0;
  };

  XmlTags tags_;
  const std::string& name_;
  Attributes attributes_;
  std::unordered_map<std::string, Key> keys_;  // by their id
  const Key* in_key_ = nullptr;                // whose element is open
  Owner owner_;                                // whose element is open
  std::string data_;                           // the key of the data element that is open
  int graphs_ = 0;
  Site declared_ = 0;
  std::unordered_map<std::string, Site> mentions_;  // id -> order of mention
  std::vector<Site> numbers_;                       // order of mention -> order of declaration
  std::vector<RewiredBond> bonds_;                  // by order of mention
  FlatMap<std::monostate> joined_;
};

}  // namespace

Graph read_graphml(std::istream& in, const std::string& name) {
  return GraphmlReader(in, name).read();
}

void write_graphml(const Graph& graph, NewFile& file) {
  file.write(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
      "<key id=\"colour\" for=\"node\" attr.name=\"colour\" attr.type=\"int\"/>\n"
      "<key id=\"bond\" for=\"edge\" attr.name=\"bond\" attr.type=\"long\"/>\n"
      "<graph id=\"G\" edgedefault=\"undirected\">\n");
  for (std::uint64_t site = 0; site < graph.sites(); ++site) {
    file.write(fmt::format("<node id=\"n{}\"><data key=\"colour\">{}</data></node>\n", site,
                           graph.colour(static_cast<Site>(site))));
  }
  for_each_bond(graph, [&](Bond bond, Site a, Site b) {
    file.write(fmt::format(
        "<edge source=\"n{}\" target=\"n{}\"><data key=\"bond\">{}</data></edge>\n", a, b, bond));
  });
  file.write("</graph>\n</graphml>\n");
}

}  // namespace rewise

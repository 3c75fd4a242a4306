// Reads GraphML (http://graphml.graphdrawing.org): one undirected graph of nodes and edges. Data of
// theirs that would make another model are refused (attributes.hpp); other data and ports are
// passed over. Nodes are numbered in the order in which they are declared. Streaming: memory grows
// with the graph, not with the text (Boost's reader, which builds the whole document first, takes
// 13 GB for the 2e6 bonds of L = 1024; the tests compare with it).
#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "graphs/attributes.hpp"
#include "graphs/colouring.hpp"
#include "graphs/flat_map.hpp"
#include "graphs/graph_io.hpp"
#include "graphs/xml_tags.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

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

}  // namespace rewise

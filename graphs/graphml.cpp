// Reads and writes GraphML (http://graphml.graphdrawing.org): one undirected graph of nodes and
// edges. expat reads the XML, so any encoding, character references, CDATA and entities declared in
// the document are supported; entities from other files are errors.
//
// Nodes are numbered in the order in which they are declared. Directed edges, which yEd always
// writes, are read as bonds if ReadOptions::merge is set, and are errors otherwise. Couplings and
// fields (attributes.hpp) are read from <data>, from defaults of elements without <data>, and from
// XML attributes that are not GraphML's. Elements of other vocabularies (yEd's <y:ShapeNode>) are
// drawings and are ignored, and so are ports. Reading is streaming: memory grows with the graph,
// not with the text. (Boost's reader first builds the whole document: 13 GB for the 2e6 bonds of L
// = 1024. The tests compare with it.)
#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <istream>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graphs/imported_bonds.hpp"
#include "src/base/error.hpp"
#include "src/base/fixed_point.hpp"
#include "src/base/setting_name.hpp"

// Newer versions of expat prefer positions of 64 bits, which 2.5 (Debian 12) does not have.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace rewise {
namespace {

class GraphmlReader {
 public:
  GraphmlReader(std::istream& in, const std::string& name, const ReadOptions& options)
      : in_(*in.rdbuf()), name_(name), options_(options), imported_(name, options) {}

  Graph read() {
    parse();
    if (seen_[kGraph] == 0) throw Error(ExitCode::data, name_ + ": not GraphML: there is no graph");
    if (declared_ == 0) throw Error(ExitCode::data, name_ + ": the graph has no sites");
    see_defaults();
    attributes_.reject_unknown(name_, options_.all_ignored_exist);
    check_declared();
    for (RewiredBond& bond : bonds_) {  // replaces order of mention by order of declaration
      bond.a = nodes_[bond.a].number;
      bond.b = nodes_[bond.b].number;
    }
    if (!fields_.empty()) fields_.resize(declared_);
    return imported_.graph(declared_, std::move(fields_));
  }

 private:
  static constexpr Site kUndeclared = 0xFFFFFFFFu;
  static constexpr std::size_t kChunk = 1 << 16;   // bytes passed to expat at a time
  static constexpr std::size_t kMaxTag = 1 << 20;  // bytes of a tag or comment
  static constexpr std::size_t kMaxText = 256;     // stored bytes of a value; 257: a longer value
  static constexpr int kMaxEntities = 1000;        // expat expands entities recursively
  static constexpr char kSeparator = '\n';         // between namespace and local name
  enum Owner : std::size_t { kNode, kEdge, kGraph };
  static constexpr std::array<const char*, 3> kOwners{"node", "edge", "graph"};

  struct Key {
    std::string name, type, default_value = {};
    std::uint64_t default_line = 0;
    std::array<bool, 3> owned = {};           // [Owner] whether elements of this kind may have it
    std::array<std::uint64_t, 3> taken = {};  // [Owner] number of elements with data for it
    std::array<std::uint64_t, 3> last = {};   // [Owner] the last of these elements, counted from 1
    std::array<bool, 3> is_coupling_or_field = {};  // [Owner] whether it is a coupling or a field
  };
  struct Node {
    Site number = kUndeclared;
    std::uint64_t line = 0;  // of its first mention
  };

  // --- expat

  [[noreturn]] void fail(const std::string& what) const { imported_.fail(line(), what); }
  std::uint64_t line() const { return XML_GetCurrentLineNumber(parser_.get()); }

  void parse() {
    if (parser_ == nullptr) throw std::bad_alloc();
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(),
        [](void* self, const char* tag, const char** attributes) {
          guarded(self, [&](GraphmlReader& reader) { reader.start(tag, attributes); });
        },
        [](void* self, const char*) {
          guarded(self, [](GraphmlReader& reader) { reader.end(); });
        });
    XML_SetCharacterDataHandler(parser_.get(), [](void* self, const char* text, int length) {
      guarded(self, [&](GraphmlReader& reader) {
        reader.keep({text, static_cast<std::size_t>(length)});
      });
    });
    XML_SetEntityDeclHandler(
        parser_.get(), [](void* self, const char* entity, int, const char*, int, const char*,
                          const char* system, const char*, const char*) {
          guarded(self, [&](GraphmlReader& reader) { reader.declare_entity(entity, system); });
        });
    XML_SetSkippedEntityHandler(parser_.get(), [](void* self, const char* entity, int) {
      guarded(self, [&](GraphmlReader& reader) { reader.reject_entity(entity); });
    });
    XML_SetStartDoctypeDeclHandler(
        parser_.get(), [](void* self, const char*, const char* system, const char*, int) {
          guarded(self, [&](GraphmlReader& reader) { reader.outer_type_ = system != nullptr; });
        });
    // A handler for all other events, so that each piece of text counts as an event.
    XML_SetDefaultHandlerExpand(
        parser_.get(), [](void* self, const char*, int) { guarded(self, [](GraphmlReader&) {}); });

    std::vector<char> chunk(kChunk);
    for (bool last = false; !last;) {
      const std::streamsize got = in_.sgetn(chunk.data(), static_cast<std::streamsize>(kChunk));
      last = got < static_cast<std::streamsize>(kChunk);
      fed_ += static_cast<std::size_t>(got);
      const XML_Status status = XML_Parse(parser_.get(), chunk.data(), static_cast<int>(got), last);
      if (thrown_) std::rethrow_exception(thrown_);
      if (status != XML_STATUS_OK) fail_as_expat();
      // expat rescans an unfinished tag with every chunk, so the cost would grow with the square of
      // its length.
      if (fed_ - fed_at_event_ > kMaxTag) {
        fail(fmt::format("not GraphML: a tag or comment is longer than {} bytes", kMaxTag));
      }
    }
  }

  // An exception must not pass through expat, which is C code.
  template <class F>
  static void guarded(void* self, F&& handle) {
    auto& reader = *static_cast<GraphmlReader*>(self);
    reader.fed_at_event_ = reader.fed_;
    if (reader.thrown_) return;
    try {
      handle(reader);
    } catch (...) {
      reader.thrown_ = std::current_exception();
      XML_StopParser(reader.parser_.get(), XML_FALSE);
    }
  }

  [[noreturn]] void fail_as_expat() const {
    const XML_Error error = XML_GetErrorCode(parser_.get());
    if (error == XML_ERROR_NO_MEMORY) throw std::bad_alloc();
    int at = 0, size = 0;
    const char* text = XML_GetInputContext(parser_.get(), &at, &size);
    std::string found;
    if (text != nullptr && at < size) {
      const auto c = static_cast<unsigned char>(text[at]);
      found = c > ' ' && c < 127 ? fmt::format(", at '{}'", text[at])
                                 : fmt::format(", at the byte {:#04x}", c);
    }
    fail(fmt::format("not GraphML: {} (column {}{})", XML_ErrorString(error),
                     XML_GetCurrentColumnNumber(parser_.get()) + 1, found));
  }

  // expat handles entities of the document itself and limits the size of their expansion.
  void declare_entity(const std::string& entity, const char* system) {
    if (system != nullptr) {
      fail(fmt::format("the entity '{}' is in another file, '{}', which is not read", shown(entity),
                       shown(system)));
    }
    if (++entities_ > kMaxEntities) fail(fmt::format("more than {} entities", kMaxEntities));
  }

  [[noreturn]] void reject_entity(std::string_view entity) const {
    fail(
        fmt::format("the entity '&{};' is not declared here (document types in other files are not "
                    "read)",
                    shown(entity)));
  }

  // If the document type is in another file, expat drops unknown entities in XML attributes without
  // an event.
  void check_entities() const {
    int at = 0, size = 0;
    const char* text = XML_GetInputContext(parser_.get(), &at, &size);
    const int length = XML_GetCurrentByteCount(parser_.get());
    if (text == nullptr || at + length > size) return;
    const std::string_view tag(text + at, static_cast<std::size_t>(length));
    for (std::size_t k = tag.find('&'); k != std::string_view::npos; k = tag.find('&', k + 1)) {
      const std::string_view entity = tag.substr(k + 1, tag.find(';', k) - k - 1);
      constexpr std::array<std::string_view, 5> kOwn{"lt", "gt", "amp", "quot", "apos"};
      const bool known =
          entity.starts_with('#') || std::find(kOwn.begin(), kOwn.end(), entity) != kOwn.end();
      if (!known) reject_entity(entity);
    }
  }

  // --- elements

  void start(std::string_view tag, const char** attributes) {
    given_ = attributes;
    if (outer_type_) check_entities();
    const std::size_t local = tag.find(kSeparator) + 1;  // 0 without a namespace
    const std::string_view name_space = tag.substr(0, local);
    tag.remove_prefix(local);
    if (depth_++ == 0) {
      if (tag != "graphml") {
        fail(fmt::format("not GraphML: the root element is <{}>", shown(tag)));
      }
      name_space_ = name_space;
    }
    if (foreign_depth_ > 0) return;
    if (name_space != name_space_) {  // another vocabulary: skipped with all its content
      foreign_depth_ = depth_;
      if (text_depth_ > 0 && text_.size() <= kMaxText) {
        text_ += fmt::format("<{}>", tag.substr(0, kMaxText));
      }
      return;
    }
    if (text_depth_ > 0) return;
    const std::size_t parent = owners_.empty() ? 0 : owners_.back().second;
    if (tag == "graph") take_graph();
    if (tag == "node") take_node();
    if (tag == "edge") take_edge();
    if (tag == "hyperedge") fail("a hyperedge: only edges between two nodes are allowed");
    if (tag == "key") take_key();
    if (tag == "graph" || tag == "node" || tag == "edge") {
      const Owner owner = tag == "graph" ? kGraph : tag == "node" ? kNode : kEdge;
      owners_.emplace_back(owner, depth_);
      see_xml_attributes(tag);
    }
    if (tag == "data" && depth_ == parent + 1) {
      const char* id = attribute("key");
      data_ = id ? id : "";
      keep_text();
    }
    if (tag == "default" && in_key_ != nullptr && depth_ == key_depth_ + 1) keep_text();
  }

  void end() {
    if (foreign_depth_ == depth_) foreign_depth_ = 0;
    if (text_depth_ == depth_) take_text();
    if (in_key_ != nullptr && key_depth_ == depth_) in_key_ = nullptr;
    if (!owners_.empty() && owners_.back().second == depth_) {
      end_owner(owners_.back().first);
      owners_.pop_back();
    }
    --depth_;
  }

  // The value of an XML attribute of the current element, or null.
  const char* attribute(std::string_view key) const {
    for (const char** at = given_; *at != nullptr; at += 2) {
      if (key == *at) return at[1];
    }
    return nullptr;
  }

  std::string required(const char* key, const char* tag) const {
    const char* value = attribute(key);
    if (value == nullptr) fail(fmt::format("<{}> without {}", tag, key));
    return value;
  }

  // Stores text up to the end of the element. Each stretch of blanks becomes one blank; blanks at
  // both ends are removed.
  void keep_text() {
    text_depth_ = depth_;
    text_.clear();
  }

  void keep(std::string_view text) {
    if (text_depth_ == 0) return;
    for (const char c : text) {
      if (text_.size() > kMaxText) return;
      if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
        text_ += c;
      } else if (!text_.empty() && text_.back() != ' ') {
        text_ += ' ';
      }
    }
  }

  // At the end of a <data> or <default>.
  void take_text() {
    text_depth_ = 0;
    if (text_.ends_with(' ')) text_.pop_back();
    if (in_key_ != nullptr) {
      check_type(*in_key_, "default of");
      in_key_->default_value = text_;
      in_key_->default_line = line();
      return;
    }
    const Owner owner = owners_.back().first;
    std::string name = data_;
    if (const auto place = keys_.find(data_); place != keys_.end()) {
      Key& key = place->second;
      check_type(key, kOwners[owner]);
      name = key.name;
      const std::uint64_t element = seen_[owner];
      key.taken[owner] += key.last[owner] != element;
      key.last[owner] = element;
    }
    imported_.give(name, attributes_.see(kOwners[owner], name, text_, line()), line());
  }

  // At the end of a node or edge: determines its coupling or field.
  void end_owner(Owner owner) {
    if (owner == kGraph) return;
    if (options_.couplings) {
      for (const auto& [id, key] : coupling_keys_) {
        const bool own = key->last[owner] == seen_[owner];
        if (!key->is_coupling_or_field[owner] || own || key->default_value.empty()) continue;
        imported_.give(
            key->name,
            attributes_.see(kOwners[owner], key->name, key->default_value, key->default_line),
            line());
      }
    }
    const std::optional<std::int32_t> value = imported_.take_given();
    if (owner == kEdge) return imported_.set_coupling(open_bond_, value, line());
    if (value.value_or(0) == 0) return;
    fields_.resize(declared_);
    fields_.back() = *value;
  }

  // The text must have the type that its key declares; otherwise its meaning is unknown.
  void check_type(const Key& key, const char* owner) const {
    if (text_.empty() || !is_number_type(key.type) || fits_number_type(text_)) return;
    if (attributes_.is_ignored(key.name)) return;
    fail(
        fmt::format("{} attribute \"{}\" has attr.type=\"{}\" and the value \"{}\": a number is "
                    "expected ({} skips this attribute)",
                    owner, shown(key.name), shown(key.type), shown(text_),
                    setting_value("ignore", shown(key.name))));
  }

  // --- GraphML

  void take_key() {
    const char *id = attribute("id"), *name = attribute("attr.name"), *owner = attribute("for");
    const char* type = attribute("attr.type");
    Key key{name ? name : id ? id : "", type ? type : ""};
    attributes_.add_name(key.name);
    for (std::size_t k = 0; k < kOwners.size(); ++k) {
      key.owned[k] =
          !owner || owner == std::string_view("all") || owner == std::string_view(kOwners[k]);
    }
    const std::string id_text = id ? id : "";
    in_key_ = &keys_.insert_or_assign(id_text, std::move(key)).first->second;
    key_depth_ = depth_;
    bool has_values = false;
    for (std::size_t k = 0; k < kOwners.size(); ++k) {
      in_key_->is_coupling_or_field[k] =
          in_key_->owned[k] && Attributes::is_coupling_or_field(kOwners[k], in_key_->name);
      has_values = has_values || in_key_->is_coupling_or_field[k];
    }
    if (has_values && options_.couplings && seen_[kNode] > 0) {
      fail(fmt::format("<key> of \"{}\" after the first node (put keys before <graph>)",
                       shown(in_key_->name)));
    }
    if (has_values) coupling_keys_[id_text] = in_key_;
  }

  // A default counts if an element of its kind has no data of its own.
  void see_defaults() {
    for (const auto& [id, key] : keys_) {
      for (std::size_t owner = 0; owner < kOwners.size(); ++owner) {
        if (key.default_value.empty() || !key.owned[owner]) continue;
        if (key.taken[owner] == seen_[owner]) continue;
        attributes_.see(kOwners[owner], key.name, key.default_value, key.default_line);
      }
    }
  }

  // <edge source="a" target="b" weight="-1"/> is not valid GraphML, but some programs write it.
  void see_xml_attributes(std::string_view tag) {
    constexpr std::array<std::string_view, 7> kOwn{
        "id", "source", "target", "edgedefault", "directed", "sourceport", "targetport"};
    for (const char** at = given_; *at != nullptr; at += 2) {
      const std::string_view name = *at;
      if (std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end()) continue;
      if (name.starts_with("parse.") || name.find(kSeparator) != std::string_view::npos) continue;
      imported_.give(
          std::string(name),
          attributes_.see(tag, name, std::string_view(at[1]).substr(0, kMaxText), line()), line());
    }
  }

  // Parses an xs:boolean.
  bool is_true(std::string_view value) const {
    const std::size_t first = value.find_first_not_of(' ');
    const std::string_view word =
        first == std::string_view::npos
            ? value
            : value.substr(first, value.find_last_not_of(' ') - first + 1);
    if (word == "true" || word == "1") return true;
    if (word == "false" || word == "0") return false;
    fail(fmt::format("directed=\"{}\": true, false, 1 or 0 is expected", shown(word)));
  }

  void take_graph() {
    if (++seen_[kGraph] > 1) fail("more than one graph");
    const char* direction = attribute("edgedefault");
    directed_ = direction == nullptr || direction != std::string_view("undirected");
  }

  void take_node() {
    ++seen_[kNode];
    const std::string id = required("id", "node");
    Site& number = nodes_[mentioned(id)].number;
    if (number != kUndeclared) fail(fmt::format("node \"{}\" occurs twice", shown(id)));
    number = declared_++;
  }

  void take_edge() {
    ++seen_[kEdge];
    const std::string a = required("source", "edge"), b = required("target", "edge");
    const char* directed = attribute("directed");
    if ((directed != nullptr ? is_true(directed) : directed_) && !options_.merge) {
      fail(
          fmt::format("the edge from node \"{}\" to \"{}\" is directed, but bonds have no "
                      "direction: {} combines all edges between two nodes into one bond (or write "
                      "edgedefault=\"undirected\" in <graph>)",
                      shown(a), shown(b), setting_name("merge")));
    }
    const Site u = mentioned(a), v = mentioned(b);
    if (u == v) fail(fmt::format("node \"{}\" is joined to itself", shown(a)));
    open_bond_ = imported_.join(u, v, line(), "edges", [&] {
      return fmt::format("nodes \"{}\" and \"{}\"", shown(a), shown(b));
    });
  }

  // The number of a node in order of first mention; an edge may precede its nodes.
  Site mentioned(const std::string& id) {
    const auto [place, is_new] = mentions_.try_emplace(id, static_cast<Site>(nodes_.size()));
    if (is_new) {
      if (nodes_.size() >= kMaxSites) fail("too many sites");
      nodes_.push_back({kUndeclared, line()});
    }
    return place->second;
  }

  void check_declared() const {
    if (declared_ == nodes_.size()) return;
    const auto first = std::find_if(nodes_.begin(), nodes_.end(),
                                    [](const Node& node) { return node.number == kUndeclared; });
    for (const auto& [id, mention] : mentions_) {
      if (mention != static_cast<Site>(first - nodes_.begin())) continue;
      imported_.fail(first->line,
                     fmt::format("an edge joins node \"{}\", which is not declared (there is no "
                                 "<node id=\"{}\">)",
                                 shown(id), shown(id)));
    }
  }

  std::streambuf& in_;
  const std::string& name_;
  const ReadOptions& options_;
  std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser_{
      XML_ParserCreateNS(nullptr, kSeparator), &XML_ParserFree};
  std::exception_ptr thrown_;
  std::size_t fed_ = 0, fed_at_event_ = 0;  // bytes
  int entities_ = 0;
  bool outer_type_ = false;  // the document type is in another file

  const char** given_ = nullptr;  // XML attributes of the current start tag
  std::string name_space_;        // of GraphML's elements: the root's namespace with kSeparator
  std::size_t depth_ = 0, foreign_depth_ = 0, text_depth_ = 0, key_depth_ = 0;
  std::vector<std::pair<Owner, std::size_t>> owners_;  // open elements, with their depths
  std::string data_, text_;                            // key and text of the open <data>

  ImportedBonds imported_;
  std::vector<RewiredBond>& bonds_ = imported_.bonds;  // by order of mention
  Attributes& attributes_ = imported_.attributes;
  std::unordered_map<std::string, Key> keys_;  // by their id
  Key* in_key_ = nullptr;                      // the key whose element is open
  std::array<std::uint64_t, 3> seen_ = {};     // [Owner] number of elements
  bool directed_ = false;                      // whether edges are directed by default
  Site declared_ = 0;
  std::unordered_map<std::string, Site> mentions_;  // id -> order of mention
  std::vector<Node> nodes_;                         // [order of mention]

  std::map<std::string, const Key*> coupling_keys_;  // of couplings and fields, by id
  std::size_t open_bond_ = 0;                        // of the open edge
  std::vector<std::int32_t> fields_;                 // [declared_] up to the last nonzero field
};

}  // namespace

Graph read_graphml(std::istream& in, const std::string& name, const ReadOptions& options) {
  return GraphmlReader(in, name, options).read();
}

void write_graphml(const Graph& graph, const TextSink& out) {
  const auto couplings = graph.bond_couplings(), fields = graph.site_fields();
  out("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
      "<key id=\"colour\" for=\"node\" attr.name=\"colour\" attr.type=\"int\"/>\n"
      "<key id=\"bond\" for=\"edge\" attr.name=\"bond\" attr.type=\"long\"/>\n");
  if (!fields.empty()) {
    out("<key id=\"field\" for=\"node\" attr.name=\"field\" attr.type=\"double\"/>\n");
  }
  if (!couplings.empty()) {
    out("<key id=\"weight\" for=\"edge\" attr.name=\"weight\" attr.type=\"double\"/>\n");
  }
  out("<graph id=\"G\" edgedefault=\"undirected\">\n");
  const auto data = [](const char* key, std::span<const std::int32_t> values, std::uint64_t at) {
    return values.empty() ? std::string()
                          : fmt::format("<data key=\"{}\">{}</data>", key, kFixedUnit * values[at]);
  };
  for (std::uint64_t site = 0; site < graph.sites(); ++site) {
    out(fmt::format("<node id=\"n{}\"><data key=\"colour\">{}</data>{}</node>\n", site,
                    graph.colour(static_cast<Site>(site)), data("field", fields, site)));
  }
  for_each_bond(graph, [&](Bond bond, Site a, Site b) {
    out(fmt::format("<edge source=\"n{}\" target=\"n{}\"><data key=\"bond\">{}</data>{}</edge>\n",
                    a, b, bond, data("weight", couplings, bond)));
  });
  out("</graph>\n</graphml>\n");
}

}  // namespace rewise

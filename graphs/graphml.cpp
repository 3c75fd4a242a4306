// Reads GraphML with Boost.Graph; its parser recurses, so nesting is bounded first.
#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphml.hpp>
#include <istream>
#include <iterator>
#include <sstream>
#include <variant>

#include "graphs/colouring.hpp"
#include "graphs/flat_map.hpp"
#include "graphs/graph_io.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

constexpr int kMaxDepth = 100;  // GraphML needs about 5

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw Error(ExitCode::data, fmt::format("{}: {}", name, what));
}

// The first position after `token`, or the end.
std::size_t after(std::string_view text, std::string_view token, std::size_t from) {
  const std::size_t at = text.find(token, from);
  return at == std::string_view::npos ? text.size() : at + token.size();
}

// Position after the '>' that closes the tag opened before `from`; quoted values may hold any.
std::size_t after_tag(std::string_view text, std::size_t from) {
  char quote = 0;
  for (std::size_t k = from; k < text.size(); ++k) {
    const char c = text[k];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '>') {
      return k + 1;
    }
  }
  return text.size();
}

bool nests_too_deeply(std::string_view text) {
  int depth = 0;
  std::size_t k = 0;
  while ((k = text.find('<', k)) != std::string_view::npos) {
    const std::string_view rest = text.substr(k);
    if (rest.starts_with("<!--")) {
      k = after(text, "-->", k + 4);
    } else if (rest.starts_with("<![CDATA[")) {
      k = after(text, "]]>", k + 9);
    } else if (rest.starts_with("<?")) {
      k = after(text, "?>", k + 2);
    } else if (rest.starts_with("<!")) {
      return true;  // a document type may nest and expand; GraphML needs none
    } else if (rest.starts_with("</")) {
      --depth;
      k = after_tag(text, k + 2);
    } else {
      k = after_tag(text, k + 1);
      if (text[k - 1] != '>' || text[k - 2] != '/') ++depth;
      if (depth > kMaxDepth) return true;
    }
  }
  return false;
}

}  // namespace

Graph read_graphml(std::istream& in, const std::string& name) {
  using Read = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (nests_too_deeply(text)) fail(name, "not GraphML: elements nest too deeply");
  Read read;
  try {
    std::istringstream stream(std::move(text));
    boost::dynamic_properties ignored(&boost::ignore_other_properties);
    boost::read_graphml(stream, read, ignored);
  } catch (const std::exception& error) {
    std::string what = error.what();
    std::ranges::replace(what, '\n', ' ');
    fail(name, fmt::format("not GraphML of an undirected graph: {}", what));
  }
  if (num_vertices(read) == 0) fail(name, "holds no site");
  if (num_vertices(read) > kMaxSites) fail(name, "too many sites");

  std::vector<RewiredBond> bonds;
  bonds.reserve(num_edges(read));
  FlatMap<std::monostate> joined(num_edges(read));
  for (auto [edge, end] = edges(read); edge != end; ++edge) {
    const auto u = static_cast<Site>(source(*edge, read));
    const auto v = static_cast<Site>(target(*edge, read));
    const Bond bond = bonds.size();
    if (u == v) fail(name, fmt::format("edge {} joins node {} to itself", bond, u));
    if (!joined.put(std::uint64_t{std::min(u, v)} << 32 | std::max(u, v))) {
      fail(name,
           fmt::format("edge {} joins nodes {} and {}, which are joined already", bond, u, v));
    }
    bonds.push_back({bond, u, v});
  }
  return imported_graph(num_vertices(read), std::move(bonds), name);
}

}  // namespace rewise

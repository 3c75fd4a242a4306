#include "graphs/graph_io.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "graphs/graph_h5.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

std::ifstream open_to_read(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw Error(ExitCode::io, fmt::format("{}: cannot be read: is a folder", path));
  }
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw Error(ExitCode::io, fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  return in;
}

void write_edges(const Graph& graph, NewFile& file) {
  fmt::memory_buffer line;
  for_each_bond(graph, [&](Bond, Site a, Site b) {
    line.clear();
    fmt::format_to(std::back_inserter(line), "{} {}\n", a, b);
    file.write(std::string_view(line.data(), line.size()));
  });
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

}  // namespace

GraphFormat graph_format(const std::string& path) {
  constexpr std::array<std::string_view, 3> kEndings{".edges", ".graphml", ".h5"};
  const std::string ending = std::filesystem::path(path).extension().string();
  for (std::size_t k = 0; k < kEndings.size(); ++k) {
    if (ending == kEndings[k]) return static_cast<GraphFormat>(k);
  }
  throw Error(
      ExitCode::usage,
      fmt::format("{}: a graph file ends in .edges, .graphml or .h5, not in \"{}\"", path, ending));
}

Graph read_graph(const std::string& path, FirstSite first) {
  const GraphFormat format = graph_format(path);
  if (first != FirstSite::unsaid && format != GraphFormat::edges) {
    throw Error(ExitCode::usage,
                fmt::format("--first-site: is for edge lists (.edges), not {}", path));
  }
  std::ifstream in = open_to_read(path);
  const auto read = [&] {
    if (format == GraphFormat::edges) return read_edge_list(in, path, first);
    if (format == GraphFormat::graphml) return read_graphml(in, path);
    return read_graph_h5(in, path);
  };
  try {
    Graph graph = read();
    if (!in.bad()) return graph;
  } catch (const std::ios_base::failure&) {  // of the stream's buffer, whatever `in` is told
  }
  throw Error(ExitCode::io, fmt::format("{}: cannot be read to its end", path));
}

void write_graph(const Graph& graph, const std::string& path, Overwrite overwrite, H5Bonds listed) {
  const GraphFormat format = graph_format(path);
  NewFile file(path, overwrite);
  if (format == GraphFormat::edges) write_edges(graph, file);
  if (format == GraphFormat::graphml) write_graphml(graph, file);
  if (format == GraphFormat::h5) file.write(graph_h5_bytes(graph, listed));
  file.commit();
}

}  // namespace rewise

#include "graphs/graph_io.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "graphs/attributes.hpp"
#include "src/base/error.hpp"
#include "src/base/setting_name.hpp"

namespace rewise {
namespace {

std::ifstream open_to_read(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw Error(ExitCode::io, fmt::format("{}: cannot be read: it is a folder", path));
  }
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw Error(ExitCode::io, fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  return in;
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
      fmt::format("{}: unknown file type \"{}\" (a graph file ends in .edges, .graphml or .h5)",
                  path, ending));
}

Graph read_graph(const std::string& path, const ReadOptions& options) {
  const GraphFormat format = graph_format(path);
  if (options.first_site != FirstSite::unsaid && format != GraphFormat::edges) {
    throw Error(ExitCode::usage, fmt::format("{}: applies to edge lists (.edges) only, not to {}",
                                             setting_name("first_site"), path));
  }
  if (!options.ignore.empty() && options.all_ignored_exist && format == GraphFormat::h5) {
    throw Error(ExitCode::usage,
                fmt::format("{}: applies to .edges and .graphml only; {} has no attributes",
                            setting_name("ignore"), path));
  }
  std::ifstream in = open_to_read(path);
  const auto read = [&] {
    if (format == GraphFormat::edges) return read_edge_list(in, path, options);
    if (format == GraphFormat::graphml) return read_graphml(in, path, options);
    Graph graph = read_graph_h5(in, path);
    const std::string coupling = options.couplings ? "" : first_coupling(graph);
    if (coupling.empty()) return graph;
    throw Error(ExitCode::data,
                fmt::format("{}: {}: {}", path, coupling, read_couplings_setting()));
  };
  try {
    Graph graph = read();
    if (!in.bad()) return graph;
  } catch (const std::ios_base::failure&) {  // by the stream's buffer, even if `in` does not throw
  }
  throw Error(ExitCode::io, fmt::format("{}: a read error before the end of the file", path));
}

void write_graph(const Graph& graph, GraphFormat format, const TextSink& out, H5Bonds listed) {
  if (format == GraphFormat::edges) return write_edges(graph, out);
  if (format == GraphFormat::graphml) return write_graphml(graph, out);
  const std::vector<std::byte> bytes = graph_h5_bytes(graph, listed);
  out({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace rewise

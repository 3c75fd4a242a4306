// Fuzz target of the reader of edge lists. For any input the result is a valid graph that is the
// same after a round trip, or an Error(data) of one line that names the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "graphs/graph_io.hpp"
#include "src/base/error.hpp"

namespace {

void require(bool good) {
  if (!good) std::abort();
}

std::string edges_of(const rewise::Graph& graph) {
  std::string text = "# sites " + std::to_string(graph.sites()) + "\n";
  rewise::for_each_bond(graph, [&](rewise::Bond, rewise::Site a, rewise::Site b) {
    text += std::to_string(a) + ' ' + std::to_string(b) + '\n';
  });
  return text;
}

rewise::Graph read(const std::string& text) {
  std::istringstream in(text);
  return rewise::read_edge_list(in, "fuzz.edges", {.couplings = true});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const rewise::Graph graph = read(std::string(reinterpret_cast<const char*>(data), size));
    graph.validate();
    const std::string edges = edges_of(graph);
    require(edges_of(read(edges)) == edges);
  } catch (const rewise::Error& error) {
    const std::string text = error.what();
    require(error.exit_code() == rewise::ExitCode::data);
    require(text.starts_with("fuzz.edges:") && text.find('\n') == std::string::npos);
  }
  return 0;
}

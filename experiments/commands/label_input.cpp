#include "experiments/commands/label_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "experiments/commands/pgm.hpp"
#include "experiments/console/shared_options.hpp"
#include "graphs/graph_io.hpp"
#include "src/base/error.hpp"
#include "src/label/image.hpp"
#include "src/label/occupy.hpp"
#include "src/settings/parse.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace {

void reject_option(const std::string& option, const std::string& given, const char* why) {
  if (!given.empty()) throw Error(ExitCode::usage, fmt::format("{}: {}", option, why));
}

// The rule by which pixels are joined; `words` receives its description. `half`: half of white, the
// default threshold.
PixelConnection connection_of(const LabelOptions& options, double half, std::string& words) {
  reject_option("--occupy", options.occupy, "is for graphs, not images");
  reject_option("--bonds", options.bonds, "is for graphs, not images");
  reject_option("--first-site", options.reading.first_site, "is for graphs, not images");
  reject_option("--ignore", options.reading.ignore, "is for graphs, not images");
  reject_option("--merge", options.reading.merge ? "given" : "", "is for graphs, not images");
  PixelConnection connection{PixelRule::threshold, half, options.periodic};
  if (options.equal) {
    reject_option("--threshold", options.threshold, "and --equal exclude each other");
    connection.rule = PixelRule::equal;
    words = "equal neighbours joined";
    return connection;
  }
  if (!options.threshold.empty()) {
    connection.threshold = parse_number(options.threshold, "--threshold");
  }
  words = fmt::format("those of at least {:g}", connection.threshold);
  return connection;
}

// Occupied pixels: those of at least the threshold, by default half of white.
LabelInput read_pgm(const LabelOptions& options) {
  const GrayImage image = parse_pgm(read_text_file(options.file), options.file);
  const std::vector<double> values(image.pixels.begin(), image.pixels.end());
  const std::vector<std::uint32_t> extents{image.width, image.height};
  std::string words;
  const PixelConnection connection =
      connection_of(options, std::ceil((image.white + 1) / 2.0), words);
  return {image_configuration(extents, values, connection), extents, true, options.periodic,
          fmt::format("{}, {} pixels, {}, {} boundaries", options.file, extents_text(extents),
                      words, options.periodic ? "periodic" : "open")};
}

// Reads bond numbers from a text file or a pipe. The caller checks that they are whole.
std::vector<double> bond_list(const std::string& source) {
  std::vector<double> numbers;
  std::ifstream in(source, std::ios::binary);
  if (!in || folder_exists(source)) {
    throw Error(ExitCode::io,
                fmt::format("cannot read '{}': {}", source, std::strerror(in ? EISDIR : errno)));
  }
  std::string text;
  try {
    text.assign(std::istreambuf_iterator<char>(in), {});
  } catch (const std::ios_base::failure&) {  // thrown by the stream's buffer
    throw Error(ExitCode::io, fmt::format("cannot read '{}': a read error before its end", source));
  }
  for (std::size_t at = 0;;) {
    at = text.find_first_not_of(" \t\r\n,", at);
    if (at == std::string::npos) return numbers;
    const std::size_t end = std::min(text.find_first_of(" \t\r\n,", at), text.size());
    numbers.push_back(parse_number(text.substr(at, end - at), source));
    at = end;
  }
}

std::vector<bool> occupied_of(const Graph& graph, const std::string& source) {
  Bond bonds = graph.lattice().dim > 0 ? graph.lattice().bonds() : 0;
  if (!graph.rewired_bonds().empty()) {
    bonds = std::max(bonds, graph.rewired_bonds().back().bond + 1);
  }
  std::vector<bool> occupied(bonds);
  for (const double number : bond_list(source)) {
    if (!(number >= 0) || number >= static_cast<double>(bonds) || number != std::floor(number)) {
      throw Error(ExitCode::data, fmt::format("{}: bond {} is out of range (0..{})", source, number,
                                              bonds == 0 ? 0 : bonds - 1));
    }
    occupied[static_cast<std::size_t>(number)] = true;
  }
  return occupied;
}

LabelInput read_graph_input(const LabelOptions& options) {
  reject_option("--threshold", options.threshold, "is for images, not graphs");
  if (options.equal || options.periodic) {
    reject_option(options.equal ? "--equal" : "--periodic", "given", "is for images, not graphs");
  }
  if (!options.occupy.empty())
    reject_option("--bonds", options.bonds, "and --occupy exclude each other");
  // Components do not depend on the couplings.
  const Graph graph = read_graph(options.file, read_options(options.reading, true));
  LabelInput input{
      BondConfiguration(graph.lattice(), graph.sites()), graph.spec().extents, false, true,
      fmt::format("{}, {} sites, {} bonds", options.file, graph.sites(), graph.bonds())};
  if (!options.occupy.empty()) {
    const double share = parse_p(options.occupy, "--occupy");
    draw_bonds(graph, threshold(share), {options.seed, 0}, input.configuration);
    input.title += fmt::format(" of which a share {:g} is drawn, seed {}", share, options.seed);
  } else if (!options.bonds.empty()) {
    const auto occupied = occupied_of(graph, options.bonds);
    input.configuration = occupied_bonds(graph, [&](Bond bond) { return occupied[bond]; });
    input.title += ", those of " + options.bonds;
  } else {
    input.configuration = occupied_bonds(graph, [](Bond) { return true; });
  }
  return input;
}

}  // namespace

LabelInput read_label_input(const LabelOptions& options) {
  const std::string ending = std::filesystem::path(options.file).extension();
  if (ending == ".pgm" || ending == ".pbm") return read_pgm(options);
  if (ending == ".edges" || ending == ".graphml" || ending == ".h5") {
    return read_graph_input(options);
  }
  throw Error(
      ExitCode::usage,
      fmt::format("'{}' is neither an image (.pgm, .pbm) nor a graph (.edges, .graphml, .h5); "
                  "arrays are labelled by rewise.labels() in Python",
                  options.file));
}

}  // namespace rewise

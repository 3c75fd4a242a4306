#include "experiments/commands/label_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "experiments/commands/pgm.hpp"
#include "experiments/console/shared_options.hpp"
#include "graphs/graph_io.hpp"
#include "src/base/error.hpp"
#include "src/base/h5_array.hpp"
#include "src/label/image.hpp"
#include "src/label/occupy.hpp"
#include "src/study/parse.hpp"

namespace rewise {
namespace {

// "FILE.h5:/path" -> {"FILE.h5", "/path"}; {} if the text has another form.
std::vector<std::string> split_dataset(const std::string& address) {
  for (const char* mark : {".h5:", ".hdf5:", ".hdf:"}) {
    const auto at = address.find(mark);
    if (at == std::string::npos) continue;
    const auto colon = address.find(':', at);
    return {address.substr(0, colon), address.substr(colon + 1)};
  }
  return {};
}

constexpr std::uint64_t kMostText = std::uint64_t{1} << 36;  // bytes of a list of bonds

void refuse(const std::string& option, const std::string& given, const char* why) {
  if (!given.empty()) throw Error(ExitCode::usage, fmt::format("{}: {}", option, why));
}

// The neighbourhood of pixels, and its description.
PixelConnection connection_of(const LabelOptions& options, PixelConnection natural,
                              std::string& words) {
  refuse("--occupy", options.occupy, "is for graphs, not images");
  refuse("--bonds", options.bonds, "is for graphs, not images");
  refuse("--first-site", options.reading.first_site, "is for graphs, not images");
  refuse("--ignore", options.reading.ignore, "is for graphs, not images");
  refuse("--merge", options.reading.merge ? "given" : "", "is for graphs, not images");
  PixelConnection connection = natural;
  connection.periodic = options.periodic;
  if (options.equal) {
    refuse("--threshold", options.threshold, "and --equal exclude each other");
    connection.rule = PixelRule::equal;
    words = "equal neighbours joined";
    return connection;
  }
  if (!options.threshold.empty()) {
    connection.rule = PixelRule::threshold;
    connection.threshold = parse_number(options.threshold, "--threshold");
  }
  words = connection.rule == PixelRule::nonzero
              ? "those that are not 0"
              : fmt::format("those of at least {:g}", connection.threshold);
  return connection;
}

LabelInput image_input(const LabelOptions& options, const std::vector<std::uint32_t>& extents,
                       const std::vector<double>& values, const PixelConnection& natural) {
  std::string words;
  const PixelConnection connection = connection_of(options, natural, words);
  return {image_configuration(extents, values, connection), extents, true, options.periodic,
          fmt::format("{}, {} pixels, {}, {} boundaries", options.file, extents_text(extents),
                      words, options.periodic ? "periodic" : "open")};
}

// Occupied pixels: those of at least the threshold, by default half of white.
LabelInput read_pgm(const LabelOptions& options) {
  const GrayImage image = parse_pgm(read_text_file(options.file), options.file);
  const std::vector<double> values(image.pixels.begin(), image.pixels.end());
  const double half = std::ceil((image.most + 1) / 2.0);
  return image_input(options, {image.width, image.height}, values,
                     {PixelRule::threshold, half, false});
}

LabelInput read_array(const LabelOptions& options, const std::vector<std::string>& address) {
  const h5::NumberArray array = h5::read_numbers(address[0], address[1]);
  constexpr double exact = 9007199254740992.0;  // 2^53
  if (options.equal && array.whole &&
      std::ranges::any_of(array.values, [](double v) { return std::abs(v) >= exact; })) {
    throw Error(ExitCode::data,
                fmt::format("{}: --equal does not tell whole numbers from 2^53 on apart; number "
                            "them anew (Python: rewise.labels, which does, or numpy.unique)",
                            options.file));
  }
  std::vector<std::uint32_t> extents;
  for (auto extent = array.dims.rbegin(); extent != array.dims.rend(); ++extent) {
    if (*extent > kMaxSites) {
      throw Error(ExitCode::data, fmt::format("{}: {} elements in one direction are too many",
                                              options.file, *extent));
    }
    extents.push_back(static_cast<std::uint32_t>(*extent));
  }
  return image_input(options, extents, array.values, {});
}

// Bond numbers from a text of whole numbers, or from a dataset.
std::vector<double> bond_list(const std::string& source) {
  if (const auto address = split_dataset(source); !address.empty()) {
    return h5::read_numbers(address[0], address[1]).values;
  }
  std::vector<double> numbers;
  const std::string text = read_text_file(source, kMostText, Pipes::allowed);
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
  refuse("--threshold", options.threshold, "is for images, not graphs");
  if (options.equal || options.periodic) {
    refuse(options.equal ? "--equal" : "--periodic", "given", "is for images, not graphs");
  }
  if (!options.occupy.empty()) refuse("--bonds", options.bonds, "and --occupy exclude each other");
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
  if (const auto address = split_dataset(options.file); !address.empty()) {
    return read_array(options, address);
  }
  const std::string ending = std::filesystem::path(options.file).extension();
  if (ending == ".pgm" || ending == ".pbm") return read_pgm(options);
  if (ending == ".edges" || ending == ".graphml" || ending == ".h5") {
    return read_graph_input(options);
  }
  throw Error(ExitCode::usage,
              fmt::format("'{}' is neither an image (.pgm, .pbm), a dataset (FILE.h5:/path) nor a "
                          "graph (.edges, .graphml, .h5)",
                          options.file));
}

}  // namespace rewise

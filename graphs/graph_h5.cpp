// Reads and writes graphs as .h5 files (layout: graph_io.hpp). Separate from the other formats
// because it needs HDF5.
#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <iterator>
#include <optional>
#include <span>

#include "graphs/colouring.hpp"
#include "graphs/graph_io.hpp"
#include "src/base/error.hpp"
#include "src/base/fixed_point.hpp"
#include "src/base/h5.hpp"
#include "src/base/seal.hpp"

namespace rewise {
namespace {

constexpr std::uint64_t kChunk = 1 << 16;  // elements
constexpr int kDeflate = 4;

template <class T>
void write_list(h5::Group& group, const std::string& name, const std::vector<T>& values) {
  const h5::Packing packing{{std::clamp<std::uint64_t>(values.size(), 1, kChunk)}, kDeflate};
  group.write<T>(name, values, {values.size()}, packing);
}

std::vector<RewiredBond> read_bonds(const h5::Group& group) {
  const auto bond = group.read<std::uint64_t>("bond", 1).values;
  const auto a = group.read<std::uint32_t>("a", 1).values;
  const auto b = group.read<std::uint32_t>("b", 1).values;
  if (a.size() != bond.size() || b.size() != bond.size()) {
    throw Error(ExitCode::data, "the lists of rewired bonds differ in length");
  }
  std::vector<RewiredBond> bonds(bond.size());
  for (std::size_t k = 0; k < bonds.size(); ++k) bonds[k] = {bond[k], a[k], b[k]};
  return bonds;
}

Graph read_lattice_graph(const h5::Group& group, std::vector<std::uint32_t> extents) {
  GraphSpec spec;
  spec.extents = std::move(extents);
  spec.p = group.get<double>("p");
  spec.rule = parse_rule(group.text("rule"));
  spec.seed = group.get<std::uint64_t>("seed");
  if (!(spec.p >= 0 && spec.p <= 1)) {
    throw Error(ExitCode::data, fmt::format("p = {} is not within [0, 1]", spec.p));
  }
  spec.bare = group.has_attribute("bare");
  // Rebuilds the graph from the seed. read_group() compares the hash with that in the file.
  if (spec.bare || parity_of(spec.rule) == Parity::any) return build_graph(spec);
  return Graph(Lattice::make(spec.extents), read_bonds(group), spec);
}

Graph read_imported_graph(const h5::Group& group, const std::string& name) {
  const auto sites = group.get<std::uint64_t>("sites");
  std::vector<RewiredBond> bonds = read_bonds(group);
  const std::string source = group.has_attribute("source") ? group.text("source") : name;
  if (!group.has("colour")) {  // graphs in task files are stored without colours
    if (sites > kMaxLoneSites + 64 * bonds.size()) {
      throw Error(ExitCode::data, fmt::format("{} sites for {} bonds", sites, bonds.size()));
    }
    return imported_graph(sites, std::move(bonds), source);
  }
  auto colours = group.read<std::uint8_t>("colour", 1).values;
  const auto count = group.get<std::uint32_t>("colours");
  if (count < 1 || count > kMaxColours) {
    throw Error(ExitCode::data,
                fmt::format("{} colours: must be between 1 and {}", count, kMaxColours));
  }
  return Graph(sites, std::move(bonds), std::move(colours), static_cast<int>(count), source);
}

// Reads J or h as fixed-point integers; empty if the list is absent.
std::vector<std::int32_t> read_fixed(const h5::Group& group, const std::string& name) {
  std::vector<std::int32_t> fixed;
  if (!group.has(name)) return fixed;
  for (const double value : group.read<double>(name, 1).values) {
    const std::optional<std::int32_t> units = to_fixed(value);
    if (!units) throw Error(ExitCode::data, fmt::format("{} {} is out of range", name, value));
    fixed.push_back(*units);
  }
  return fixed;
}

void write_fixed(h5::Group& group, const std::string& name, std::span<const std::int32_t> fixed) {
  if (fixed.empty()) return;
  std::vector<double> values(fixed.begin(), fixed.end());
  for (double& value : values) value *= kFixedUnit;
  write_list(group, name, values);
}

Graph read_group(const h5::Group& group, const std::string& name) {
  auto extents = group.get_array<std::uint32_t>("extents", kMaxDim);
  Graph graph = extents.empty() ? read_imported_graph(group, name)
                                : read_lattice_graph(group, std::move(extents));
  if (graph.sites() != group.get<std::uint64_t>("sites") ||
      graph.bonds() != group.get<std::uint64_t>("bonds")) {
    throw Error(ExitCode::data,
                "the graph does not have the numbers of sites and bonds that the file states");
  }
  auto weights = read_fixed(group, "weight"), fields = read_fixed(group, "field");
  if (!weights.empty() || !fields.empty()) graph.set_weights(std::move(weights), std::move(fields));
  if (group.has_attribute("hash") && group.text("hash") != graph_hash(graph)) {
    throw Error(ExitCode::data,
                "the graph is damaged: its hash is not the one that the file states");
  }
  graph.validate();
  return graph;
}

}  // namespace

std::vector<std::byte> graph_h5_bytes(const Graph& graph, H5Bonds listed) {
  const h5::File file = h5::File::create();
  h5::Group group = file.root().create_group("graph");
  const GraphSpec& spec = graph.spec();
  group.set("dim", static_cast<std::uint32_t>(spec.extents.size()));
  group.set_array<std::uint32_t>("extents", spec.extents);
  group.set("p", spec.p);
  group.set_text("rule", to_string(spec.rule));
  group.set("seed", spec.seed);
  group.set_text("source", graph.source());
  if (spec.bare) group.set("bare", std::uint32_t{1});
  group.set("sites", graph.sites());
  group.set("bonds", graph.bonds());
  group.set("modified", std::uint64_t{graph.changed_sites().size()});
  const bool any = parity_of(spec.rule) == Parity::any;
  const std::vector<RewiredBond> shortcuts = any ? graph.shortcuts() : std::vector<RewiredBond>{};
  const auto rewired = any ? std::span(shortcuts) : graph.rewired_bonds();
  group.set("rewired", std::uint64_t{rewired.size()});
  group.set_text("hash", graph_hash(graph));

  std::vector<std::uint64_t> bond;
  std::vector<std::uint32_t> a, b;
  for (const RewiredBond& r : rewired) {
    bond.push_back(r.bond);
    a.push_back(r.a);
    b.push_back(r.b);
  }
  write_list(group, "bond", bond);
  write_list(group, "a", a);
  write_list(group, "b", b);
  if (listed == H5Bonds::all) {
    std::vector<std::uint32_t> ends;
    ends.reserve(2 * graph.bonds());
    for_each_bond(graph, [&](Bond, Site u, Site v) { ends.insert(ends.end(), {u, v}); });
    const h5::Packing packing{{std::clamp<std::uint64_t>(graph.bonds(), 1, kChunk), 2}, kDeflate};
    group.write<std::uint32_t>("ends", ends, {graph.bonds(), 2}, packing);
  }
  if (graph.lattice().dim == 0) {
    std::vector<std::uint8_t> colour(graph.sites());
    for (std::uint64_t site = 0; site < graph.sites(); ++site) {
      colour[site] = static_cast<std::uint8_t>(graph.colour(static_cast<Site>(site)));
    }
    group.set("colours", static_cast<std::uint32_t>(graph.colours()));
    write_list(group, "colour", colour);
  }
  write_fixed(group, "weight", graph.bond_weights());
  write_fixed(group, "field", graph.site_fields());
  return seal(file.image());
}

Graph read_graph_h5(std::istream& in, const std::string& name) {
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  // HDF5 crashes on some damaged files, so the checksum (seal.hpp) is checked first.
  const SealedRead sealed = parse_sealed(std::as_bytes(std::span(bytes)));
  if (sealed.state != SealState::good) {
    throw Error(ExitCode::data, fmt::format("{}: {}", name, sealed.problem));
  }
  try {
    const h5::File file = h5::File::open(sealed.image);
    return read_group(file.root().group("graph"), name);
  } catch (const Error& error) {  // every error means that the content is invalid
    throw Error(ExitCode::data, fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace rewise

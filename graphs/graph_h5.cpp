// Reads and writes graphs as .h5 files (layout: graph_io.hpp). Separate from the other formats
// because it needs HDF5.
#include "graphs/graph_h5.hpp"

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
#include "src/base/seal.hpp"

namespace rewise {
namespace {

constexpr std::uint64_t kChunk = 1 << 16;  // elements
constexpr int kDeflate = 4;

std::vector<RewiredBond> rewired_bonds(const GraphRecord& graph) {
  if (graph.a.size() != graph.rewired() || graph.b.size() != graph.rewired()) {
    throw Error(ExitCode::data, "the lists of rewired bonds differ in length");
  }
  std::vector<RewiredBond> bonds(graph.rewired());
  for (std::size_t k = 0; k < bonds.size(); ++k) bonds[k] = {graph.bond[k], graph.a[k], graph.b[k]};
  return bonds;
}

Graph lattice_graph(const GraphRecord& graph) {
  const GraphSpec spec{graph.extents, graph.p, parse_rule(graph.rule), graph.seed, graph.bare};
  if (!(spec.p >= 0 && spec.p <= 1)) {
    throw Error(ExitCode::data, fmt::format("p = {} is not within [0, 1]", spec.p));
  }
  // Rebuilds the graph from the seed. read_group() compares the hash with that in the file.
  if (spec.bare || parity_of(spec.rule) == Parity::any) return build_graph(spec);
  return Graph(Lattice::make(spec.extents), rewired_bonds(graph), spec);
}

Graph read_imported_graph(const h5::Group& group, const GraphRecord& graph,
                          const std::string& name) {
  const std::uint64_t sites = graph.sites;
  std::vector<RewiredBond> bonds = rewired_bonds(graph);
  const std::string source = group.has_attribute("source") ? graph.source : name;
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

// J or h as fixed-point integers.
std::vector<std::int32_t> fixed_of(const std::vector<double>& values, const char* name) {
  std::vector<std::int32_t> fixed;
  for (const double value : values) {
    const std::optional<std::int32_t> units = to_fixed(value);
    if (!units) throw Error(ExitCode::data, fmt::format("{} {} is out of range", name, value));
    fixed.push_back(*units);
  }
  return fixed;
}

Graph read_group(const h5::Group& group, const std::string& name) {
  const GraphRecord record = read_graph_record(group);
  Graph graph =
      record.extents.empty() ? read_imported_graph(group, record, name) : lattice_graph(record);
  if (graph.sites() != record.sites || graph.bonds() != record.bonds) {
    throw Error(ExitCode::data,
                "the graph does not have the numbers of sites and bonds that the file states");
  }
  auto couplings = fixed_of(record.weight, "weight"), fields = fixed_of(record.field, "field");
  if (!couplings.empty() || !fields.empty())
    graph.set_couplings_and_fields(std::move(couplings), std::move(fields));
  if (group.has_attribute("hash") && group.text("hash") != graph_hash(graph)) {
    throw Error(ExitCode::data,
                "the graph is damaged: its hash is not the one that the file states");
  }
  graph.validate();
  return graph;
}

}  // namespace

GraphRecord graph_record(const Graph& graph) {
  GraphRecord record;
  const GraphSpec& spec = graph.spec();
  record.extents = spec.extents;
  record.p = spec.p;
  record.rule = to_string(spec.rule);
  record.seed = spec.seed;
  record.bare = spec.bare;
  record.source = graph.source();
  record.sites = graph.sites();
  record.bonds = graph.bonds();
  record.modified = graph.sites_modified_by_rule().size();
  const bool any = parity_of(spec.rule) == Parity::any && !spec.bare;
  const std::vector<RewiredBond> shortcuts = any ? graph.shortcuts() : std::vector<RewiredBond>{};
  for (const RewiredBond& bond : any ? std::span(shortcuts) : graph.rewired_bonds()) {
    record.bond.push_back(bond.bond);
    record.a.push_back(bond.a);
    record.b.push_back(bond.b);
  }
  const auto numbers = [](std::span<const std::int32_t> fixed) {
    std::vector<double> values(fixed.begin(), fixed.end());
    for (double& value : values) value *= kFixedUnit;
    return values;
  };
  record.weight = numbers(graph.bond_couplings());
  record.field = numbers(graph.site_fields());
  return record;
}

void write_packed(h5::Group& group, const PackedArrays& arrays) {
  for (const auto& [name, array] : arrays) group.write(name, array);
}

PackedArrays pack_lists(const GraphRecord& graph, std::uint64_t chunk, int level) {
  PackedArrays lists;
  const auto add = [&]<class T>(const char* name, const std::vector<T>& values) {
    const h5::Packing packing{{std::clamp<std::uint64_t>(values.size(), 1, chunk)}, level};
    lists.emplace_back(name, h5::pack<T>(values, {values.size()}, packing));
  };
  add("bond", graph.bond);
  add("a", graph.a);
  add("b", graph.b);
  if (!graph.weight.empty()) add("weight", graph.weight);
  if (!graph.field.empty()) add("field", graph.field);
  return lists;
}

void write_graph(h5::Group& group, const GraphRecord& graph, const PackedArrays& lists) {
  group.set("dim", static_cast<std::uint32_t>(graph.extents.size()));
  group.set_array<std::uint32_t>("extents", graph.extents);
  group.set("p", graph.p);
  group.set_text("rule", graph.rule);
  group.set("seed", graph.seed);
  if (graph.bare) group.set("bare", std::uint32_t{1});
  group.set_text("source", graph.source);
  group.set("sites", graph.sites);
  group.set("bonds", graph.bonds);
  group.set("modified", graph.modified);
  group.set("rewired", static_cast<std::uint64_t>(graph.rewired()));
  write_packed(group, lists);
}

GraphRecord read_graph_record(const h5::Group& group) {
  GraphRecord graph;
  graph.extents = group.get_array<std::uint32_t>("extents", kMaxDim);
  graph.p = group.get<double>("p");
  graph.rule = group.text("rule");
  graph.seed = group.get<std::uint64_t>("seed");
  graph.bare = group.has_attribute("bare");
  if (group.has_attribute("source")) graph.source = group.text("source");
  graph.sites = group.get<std::uint64_t>("sites");
  graph.bonds = group.get<std::uint64_t>("bonds");
  graph.bond = group.read<std::uint64_t>("bond", 1).values;
  graph.a = group.read<std::uint32_t>("a", 1).values;
  graph.b = group.read<std::uint32_t>("b", 1).values;
  if (group.has("weight")) graph.weight = group.read<double>("weight", 1).values;
  if (group.has("field")) graph.field = group.read<double>("field", 1).values;
  return graph;
}

std::vector<std::byte> graph_h5_bytes(const Graph& graph, H5Bonds listed) {
  const GraphRecord record = graph_record(graph);
  const h5::File file = h5::File::create();
  h5::Group group = file.root().create_group("graph");
  write_graph(group, record, pack_lists(record, kChunk, kDeflate));
  group.set_text("hash", graph_hash(graph));
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
    const h5::Packing packing{{std::clamp<std::uint64_t>(colour.size(), 1, kChunk)}, kDeflate};
    group.write<std::uint8_t>("colour", colour, {colour.size()}, packing);
  }
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

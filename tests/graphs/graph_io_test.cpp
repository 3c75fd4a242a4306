// Files of all three formats: round trips and errors.
#include "graphs/graph_io.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <sstream>

#include "graphs/colouring.hpp"
#include "src/base/fixed_point.hpp"
#include "src/base/h5.hpp"
#include "src/base/seal.hpp"
#include "tests/graphs/bond_list.hpp"
#include "tests/graphs/files.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using oracle::all_bonds;
using oracle::refusal_of;

namespace {

std::vector<Graph> samples() {
  std::vector<Graph> graphs;
  for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
    graphs.push_back(build_graph({{8, 6}, 0.2, rule, 5}));
    graphs.push_back(build_graph({{4, 6, 4}, 1.0, rule, 5}));
  }
  for (const Rule rule : {Rule::rewire_any, Rule::swap_any, Rule::add_any}) {
    graphs.push_back(build_graph({{6, 4}, 0.4, rule, 3}));
  }
  graphs.push_back(build_graph({{12}, 0.0, Rule::rewire, 1}));
  graphs.push_back(build_graph({{16}, 1.0, Rule::rewire, 5}));   // site 15 has no bond
  graphs.push_back(build_graph({{16}, 1.0, Rule::rewire, 10}));  // site 0 has no bond
  graphs.push_back(imported_graph(3, {}, "isolated"));
  graphs.push_back(imported_graph(6, {{0, 0, 1}, {1, 2, 1}, {2, 2, 0}, {3, 4, 3}}, "triangle"));
  return graphs;
}

}  // namespace

TEST_CASE("a graph read back from .h5 is the same, including its lattice") {
  const oracle::Folder folder;
  int number = 0;
  for (const Graph& graph : samples()) {
    const std::string path = folder / (std::to_string(number++) + ".h5");
    write_graph(graph, path);
    const Graph again = read_graph(path);
    CHECK(graph_hash(again) == graph_hash(graph));
    CHECK(again.lattice().dim == graph.lattice().dim);
    CHECK(again.spec().extents == graph.spec().extents);
    CHECK(again.spec().p == graph.spec().p);
    CHECK(again.spec().rule == graph.spec().rule);
    CHECK(again.spec().seed == graph.spec().seed);
    CHECK(again.source() == graph.source());
    CHECK(all_bonds(again) == all_bonds(graph));
    CHECK(again.colours() == graph.colours());
    for (Site site = 0; site < graph.sites(); ++site) {
      CHECK(again.colour(site) == graph.colour(site));
    }
  }
}

TEST_CASE("a graph read back from .edges and .graphml has the same bonds in the same order") {
  const oracle::Folder folder;
  int number = 0;
  for (const Graph& graph : samples()) {
    for (const char* ending : {".edges", ".graphml"}) {
      const std::string path = folder / (std::to_string(number++) + ending);
      write_graph(graph, path);
      const Graph again = read_graph(path);
      CHECK(again.lattice().dim == 0);
      CHECK(all_bonds(again) == all_bonds(graph));
      CHECK(again.sites() == graph.sites());
      if (graph.colours() == 2) CHECK(again.colours() == 2);
      again.validate();
    }
  }
}

TEST_CASE("weights and fields are written in all formats and read back equal") {
  const oracle::Folder folder;
  const std::vector<RewiredBond> bonds{{0, 0, 1}, {1, 2, 1}, {2, 2, 0}, {3, 4, 3}};
  const std::vector<std::int32_t> weights{-kFixedOne, 1, 1024 * kFixedOne - 1, 0};
  const std::vector<std::int32_t> fields{0, 7 * kFixedOne / 3, 0, -1, -1023 * kFixedOne};
  int number = 0;
  for (const bool weighted : {false, true}) {
    for (const bool in_field : {false, true}) {
      Graph graph = imported_graph(6, bonds, "triangle");
      auto of_sites = fields;
      of_sites.push_back(5);
      graph.set_couplings_and_fields(weighted ? weights : std::vector<std::int32_t>(),
                                     in_field ? of_sites : std::vector<std::int32_t>());
      for (const char* ending : {".edges", ".graphml", ".h5"}) {
        const std::string path = folder / (std::to_string(number++) + ending);
        write_graph(graph, path);
        const Graph again = read_graph(path, {.couplings = true});
        INFO(path);
        CHECK(std::ranges::equal(again.bond_couplings(), graph.bond_couplings()));
        CHECK(std::ranges::equal(again.site_fields(), graph.site_fields()));
        CHECK(graph_hash(again) == graph_hash(graph));
        const auto refused = refusal_of([&] { read_graph(path); });
        CHECK(refused.code == (weighted || in_field ? ExitCode::data : ExitCode::done));
        if (weighted || in_field) CHECK(refused.says("--couplings file"));
      }
    }
  }
  Graph one = imported_graph(2, {{0, 0, 1}}, "bond");
  CHECK(refusal_of([&] { one.set_couplings_and_fields({1, 2}, {}); }).code == ExitCode::data);
  CHECK(refusal_of([&] { one.set_couplings_and_fields({}, {1}); }).code == ExitCode::data);
  Graph lattice = build_graph({{4, 4}, 0, Rule::rewire, 1});
  CHECK(refusal_of([&] {
          lattice.set_couplings_and_fields(std::vector<std::int32_t>(32), {});
        }).code == ExitCode::data);
  CHECK(first_coupling(one).empty());
  one.set_couplings_and_fields({-kFixedOne / 2}, {0, kFixedOne});
  CHECK(first_coupling(one) == "bond 0 of sites 0 and 1 has J = -0.5");
  one.set_couplings_and_fields({kFixedOne}, {0, kFixedOne});
  CHECK(first_coupling(one) == "site 1 has h = 1");
}

TEST_CASE(".edges holds the number of sites and one line per bond, in bond order") {
  const oracle::Folder folder;
  const Graph graph = build_graph({{4, 4}, 0.5, Rule::rewire, 3});
  write_graph(graph, folder / "g.edges");
  std::string expected = "# sites 16\n";
  for (const auto& [u, v] : all_bonds(graph)) {
    expected += std::to_string(u) + " " + std::to_string(v) + "\n";
  }
  CHECK(oracle::contents(folder / "g.edges") == expected);
}

TEST_CASE(".h5 lists every bond on request and is read back as the same graph") {
  const oracle::Folder folder;
  for (const Rule rule : {Rule::rewire, Rule::add}) {
    const Graph graph = build_graph({{4, 6}, 0.4, rule, 3});
    const std::string path = folder / (std::string(to_string(rule)) + ".h5");
    write_graph(graph, path, H5Bonds::all);
    CHECK(graph_hash(read_graph(path)) == graph_hash(graph));
    const std::string bytes = oracle::contents(path);
    const h5::File file = h5::File::open(std::as_bytes(std::span(bytes)));
    const auto ends = file.root().group("graph").read<std::uint32_t>("ends", 2);
    CHECK(ends.dims == std::vector<std::uint64_t>{graph.bonds(), 2});
    std::vector<std::uint32_t> expected;
    for (const auto& [u, v] : all_bonds(graph)) expected.insert(expected.end(), {u, v});
    CHECK(ends.values == expected);
  }
}

TEST_CASE("unreadable and unknown files are refused") {
  const oracle::Folder folder;
  CHECK(refusal_of([&] { graph_format("g.txt"); }).code == ExitCode::usage);
  CHECK(refusal_of([&] { graph_format("g"); }).code == ExitCode::usage);
  CHECK(refusal_of([&] { read_graph(folder / "missing.edges"); }).code == ExitCode::io);
  CHECK(refusal_of([&] { read_graph(folder / "missing.h5"); }).code == ExitCode::io);
  std::filesystem::create_directory(folder / "folder.edges");
  CHECK(refusal_of([&] { read_graph(folder / "folder.edges"); }).code == ExitCode::io);
}

TEST_CASE("damaged .h5 files throw Error(data): truncated, garbage, any byte changed") {
  const oracle::Folder folder;
  const Graph graph = build_graph({{8, 8}, 0.2, Rule::rewire, 1});
  write_graph(graph, folder / "g.h5");
  const std::string bytes = oracle::contents(folder / "g.h5");
  const auto reading = [&](const std::string& changed) {
    std::istringstream in(changed);
    return refusal_of([&] { read_graph_h5(in, "bad.h5"); });
  };
  CHECK(reading(bytes).code == ExitCode::done);
  CHECK(reading("garbage").says("bad.h5"));
  std::size_t accepted = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    accepted += reading(bytes.substr(0, length)).code != ExitCode::data;
  }
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    std::string changed = bytes;
    changed[k] = static_cast<char>(changed[k] ^ (1 << (k % 8)));
    accepted += reading(changed).code != ExitCode::data;
  }
  CHECK(accepted == 0);
}

TEST_CASE("sealed .h5 files without a valid graph are refused") {
  struct Fields {
    std::vector<std::uint32_t> extents{4, 4}, b{11};  // bond 0 now joins sites 0 and 11 = (3, 2)
    double p = 0.1;
    std::string rule = "rewire", hash = "";
    std::uint64_t sites = 16, bonds = 32;
  };
  const auto reading = [](const Fields& fields) {
    const h5::File file = h5::File::create();
    h5::Group group = file.root().create_group("graph");
    const std::vector<std::uint32_t> a{0};
    const std::vector<std::uint64_t> bond{0};
    group.set_array<std::uint32_t>("extents", fields.extents);
    group.set("p", fields.p);
    group.set_text("rule", fields.rule);
    group.set("seed", std::uint64_t{1});
    group.set("sites", fields.sites);
    group.set("bonds", fields.bonds);
    if (!fields.hash.empty()) group.set_text("hash", fields.hash);
    group.write<std::uint64_t>("bond", bond, {1});
    group.write<std::uint32_t>("a", a, {1});
    group.write<std::uint32_t>("b", fields.b, {fields.b.size()});
    const auto bytes = seal(file.image());
    std::istringstream in(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    return refusal_of([&] { read_graph_h5(in, "g.h5"); });
  };
  CHECK(reading({}).code == ExitCode::done);
  CHECK(reading({.b = {10}}).says("same colour"));
  CHECK(reading({.b = {16}}).says("there are 16 sites"));
  CHECK(reading({.b = {0}}).says("to itself"));
  CHECK(reading({.b = {1}}).says("joins the same sites as in the lattice"));
  CHECK(reading({.b = {4}}).says("both join"));
  CHECK(reading({.b = {11, 11}}).says("differ in length"));
  for (const Fields& fields :
       std::vector<Fields>{{.p = 1.5},
                           {.rule = "rewrite"},
                           {.hash = "0123456789abcdef"},
                           {.sites = std::uint64_t{1} << 40},
                           {.bonds = 33},
                           {.extents = {4, 5}},
                           {.extents = {}, .sites = std::uint64_t{1} << 60}}) {
    const auto refused = reading(fields);
    INFO(refused.text);
    CHECK(refused.code == ExitCode::data);
    CHECK(refused.says("g.h5"));
  }
}

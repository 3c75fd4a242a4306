// The Wolff methods of the CPU flip the same clusters. Also tests the names of the methods.
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/base/error.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/methods.hpp"
#include "src/engine/registry.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/edge_list.hpp"

using namespace rewise;

namespace {

EngineOptions by(WolffMethod method) {
  EngineOptions options;
  options.threads = 1;
  options.methods = {.wolff = method};
  return options;
}

std::vector<Graph> graphs() {
  std::vector<Graph> graphs;
  const std::vector<std::vector<std::uint32_t>> shapes{{70},     {4, 4},    {34, 6},
                                                       {66, 36}, {6, 4, 8}, {4, 4, 4, 6}};
  for (const auto& shape : shapes) {
    graphs.push_back(build_graph({shape, 0, Rule::rewire, 1}));
    graphs.push_back(build_graph({shape, 0.1, Rule::rewire, 2}));
    graphs.push_back(build_graph({shape, 1, Rule::rewire, 3}));
    graphs.push_back(build_graph({shape, 0.3, Rule::add, 4}));
    if (shape.size() > 1) graphs.push_back(build_graph({shape, 0.3, Rule::swap, 5}));
  }
  graphs.push_back(oracle::imported_graph(oracle::hubs(25, 6, 4), "hubs"));
  graphs.push_back(oracle::imported_graph(oracle::complete(20), "complete"));
  return graphs;
}

std::string message_of(const std::string& method) {
  try {
    parse_wolff_method(method, "--wolff-method");
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::usage);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("bytespin engine: ccl and frontier flip the same clusters") {
  for (const Graph& graph : graphs()) {
    for (const auto& [model, q] :
         {std::pair{ModelKind::ising, 2u}, std::pair{ModelKind::potts, 3u}}) {
      EngineSpec spec;
      spec.model.kind = model;
      spec.model.q = q;
      spec.betas = {1 / 1.5, 1 / 2.3, 1 / 3.0};
      spec.replicas = 2;
      spec.seed = 90;
      const auto frontier = make_bytespin_engine(graph, spec, by(WolffMethod::frontier));
      const auto ccl = make_bytespin_engine(graph, spec, by(WolffMethod::ccl));
      INFO(graph.sites() << " sites, " << graph.bonds() << " bonds, q = " << q);
      for (int part = 0; part < 5; ++part) {
        frontier->advance({1, 3}, 10);
        ccl->advance({1, 3}, 10);
        CHECK(frontier->trajectory_hash() == ccl->trajectory_hash());
        Observation a, b;
        frontier->measure(a);
        ccl->measure(b);
        CHECK(a.cluster_size == b.cluster_size);
        CHECK(a.bond_sum == b.bond_sum);
      }
    }
  }
}

TEST_CASE("Wolff methods by name") {
  CHECK(parse_wolff_method("ccl", "") == WolffMethod::ccl);
  CHECK(parse_wolff_method("persistent", "") == WolffMethod::persistent);
  CHECK(parse_wolff_method("", "") == WolffMethod::automatic);
  CHECK(to_string(WolffMethod::automatic).empty());
  for (const char* method : {"frontier", "frontier-local", "persistent", "ccl"}) {
    CHECK(to_string(parse_wolff_method(method, "")) == method);
  }
  CHECK(wolff_methods(true, false) == "frontier, ccl");
  CHECK(wolff_methods(false, true) == "frontier-local, persistent");
  CHECK(message_of("persistant") ==
        "--wolff-method: unknown Wolff method 'persistant' (did you mean 'persistent'? known: "
        "frontier, frontier-local, persistent, ccl)");
  CHECK(has_cpu(WolffMethod::automatic));
  const auto why_not_on_cpu = [](WolffMethod method) {
    return bytespin::kMethods.why_not({.wolff = method}, false, false);
  };
  CHECK(why_not_on_cpu(WolffMethod::ccl).empty());
  CHECK(why_not_on_cpu(WolffMethod::persistent) ==
        "--wolff-method: 'persistent' needs a CUDA device (on the CPU: frontier, ccl)");
}

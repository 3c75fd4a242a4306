// All labelling methods give the same trajectory of the bytespin engine: spins and cluster sums.
#include <string>

#include "src/base/error.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/methods.hpp"
#include "src/label/method.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/edge_list.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

std::vector<Graph> labelled_graphs() {
  std::vector<Graph> graphs;
  graphs.push_back(build_graph({{34, 26}, 0.1, Rule::rewire, 3}));
  graphs.push_back(build_graph({{70, 20}, 0, Rule::rewire, 3}));
  graphs.push_back(build_graph({{12, 8, 10}, 0.3, Rule::swap, 4}));
  graphs.push_back(build_graph({{8, 6, 4, 6}, 0.2, Rule::add, 5}));
  graphs.push_back(build_graph({{200}, 0.5, Rule::add, 6}));
  graphs.push_back(imported_graph(hubs(25, 6, 4), "hubs"));
  return graphs;
}

// The result of four updates of two replicas, one from a hot and one from a cold start.
struct Trace {
  std::uint64_t hash;
  Observation sums;
};

Trace trace_of(const Graph& graph, ClusterUpdate cluster, std::uint32_t q, LabelMethod method,
               std::uint32_t tile, WorkCounters* work = nullptr) {
  EngineSpec spec;
  spec.model = {q == 0 ? ModelKind::ising : ModelKind::potts, q == 0 ? 2 : q};
  spec.betas = {q == 0 ? 0.45 : 0.9};
  spec.replicas = 2;
  spec.seed = 5;
  spec.cluster = cluster;
  EngineOptions options;
  options.threads = 1;
  options.methods = {.wolff = WolffMethod::ccl, .label = method, .label_tile = tile};
  const auto engine = make_bytespin_engine(graph, spec, options);
  engine->advance({0, 1}, 4);
  Trace trace{engine->trajectory_hash(), {}};
  engine->measure(trace.sums);
  if (work != nullptr) *work = engine->work();
  return trace;
}

bool same(const Trace& a, const Trace& b) {
  return a.hash == b.hash && a.sums.cluster_size == b.sums.cluster_size &&
         a.sums.cluster_quartic_low == b.sums.cluster_quartic_low &&
         a.sums.cluster_quartic_high == b.sums.cluster_quartic_high &&
         a.sums.bond_sum == b.sums.bond_sum && a.sums.magnetisation == b.sums.magnetisation;
}

}  // namespace

TEST_CASE("labelling methods give equal trajectories: every rule, tile edge, Ising and Potts") {
  int cases = 0;
  for (const Graph& graph : labelled_graphs()) {
    for (const auto cluster : {ClusterUpdate::swendsen_wang, ClusterUpdate::wolff}) {
      for (const std::uint32_t q : {0u, 2u, 3u, 5u}) {
        const Trace expected = trace_of(graph, cluster, q, LabelMethod::fast, 0);
        for (int m = 1; m < kLabelMethods; ++m) {
          const auto method = static_cast<LabelMethod>(m);
          const std::uint32_t tile = !is_tiled(method) ? 0 : cases % 2 == 0 ? 4 : 11;
          INFO(graph.sites() << " sites, q = " << q << ", " << to_string(method) << ", tile "
                             << tile);
          CHECK(same(trace_of(graph, cluster, q, method, tile), expected));
          ++cases;
        }
      }
    }
  }
  CHECK(cases == 6 * 2 * 4 * 8);
}

TEST_CASE("the steps of cluster updates with labels are timed") {
  const Graph graph = build_graph({{64, 64}, 0.1, Rule::rewire, 3});
  for (int m = 0; m < kLabelMethods; ++m) {
    const auto method = static_cast<LabelMethod>(m);
    WorkCounters work;
    trace_of(graph, ClusterUpdate::swendsen_wang, 3, method, 0, &work);
    const ClusterPhaseTimes& phases = work.phases;
    CHECK(phases.activate > 0);
    CHECK(phases.label > 0);
    CHECK((phases.merge > 0) == is_tiled(method));
    CHECK(phases.flip > 0);
    CHECK(phases.activate + phases.label + phases.merge + phases.flip <=
          work.cluster_seconds * 1.001);
  }
}

TEST_CASE("a tile size for a method without tiles is a usage error") {
  const auto parse = [](const std::string& method, const std::string& tile) {
    return bytespin::kMethods
        .parse({{"--label-method", method}, {"--tile", tile}}, ClusterUpdate::swendsen_wang, 2)
        .label_tile;
  };
  CHECK(parse("self-label+sew", "8") == 8);
  CHECK(parse("fast", "0") == 0);
  for (const auto& [method, tile] : {std::pair{"self-label+sew", "2"}, {"fast", "8"}}) {
    expect(ExitCode::usage, "--tile: ", [&] { parse(method, tile); });
  }
}

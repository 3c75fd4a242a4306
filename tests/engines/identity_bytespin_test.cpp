// The trajectory of the bytespin engine does not depend on threads, interruptions or the length of
// a call.
#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/methods.hpp"
#include "tests/engines/identity_check.hpp"
#include "tests/support/edge_list.hpp"
#include "tests/support/instruction_sets.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

EngineOptions option(int threads) {
  EngineOptions options;
  options.threads = threads;
  return options;
}

EngineSpec spec_of(LocalUpdate local, ClusterUpdate cluster) {
  EngineSpec spec;
  spec.betas = {1 / 2.1, 1 / 2.6, 1 / 4.0};
  spec.replicas = 3;
  spec.seed = 78;
  spec.local = local;
  spec.cluster = cluster;
  return spec;
}

std::vector<Graph> graphs() {
  std::vector<Graph> graphs;
  graphs.push_back(build_graph({{36, 22}, 0.1, Rule::rewire, 3}));
  graphs.push_back(build_graph({{70, 36}, 0, Rule::rewire, 3}));
  graphs.push_back(build_graph({{6, 4, 8}, 0.5, Rule::swap, 4}));
  graphs.push_back(build_graph({{4, 4, 4, 6}, 0.2, Rule::add, 5}));
  graphs.push_back(build_graph({{70}, 0.5, Rule::rewire, 6}));
  graphs.push_back(imported_graph(hubs(25, 6, 4), "hubs"));
  graphs.push_back(imported_graph(complete(20), "complete"));
  return graphs;
}

// Calls f(graph, spec) for all combinations.
template <class F>
void for_each_combination(F&& f) {
  for (const Graph& graph : graphs()) {
    for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      for (const auto cluster :
           {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang, ClusterUpdate::few_cluster}) {
        INFO(graph.sites() << " sites, " << graph.bonds() << " bonds, " << to_string(local) << ", "
                           << to_string(cluster));
        f(graph, spec_of(local, cluster));
      }
    }
  }
}

}  // namespace

TEST_CASE("bytespin trajectories: 1, 2 and 5 threads are equal") {
  for_each_combination([](const Graph& graph, const EngineSpec& spec) {
    std::vector<Trace> expected;
    for (const int threads : {1, 2, 5}) {
      const auto engine = make_bytespin_engine(graph, spec, option(threads));
      CHECK(engine->threads() == threads);
      const auto traces = uninterrupted(*engine, {1, 2}, 8, 2);
      if (expected.empty()) expected = traces;
      for (std::size_t k = 0; k < traces.size(); ++k) {
        CHECK(traces[k].hash == expected[k].hash);
        CHECK(same(traces[k].seen, expected[k].seen));
      }
    }
  });
}

TEST_CASE("bytespin trajectories: stopped within cycles and continued equals uninterrupted") {
  const auto stops = [](const Graph& graph, const EngineSpec& spec, const Schedule& schedule,
                        const std::vector<EngineOptions>& options) {
    INFO(graph.sites() << " sites, " << to_string(spec.local) << ", " << to_string(spec.cluster));
    CHECK(check_stops(make_bytespin_engine, graph, spec, schedule, options, graph.sites()) >= 10);
  };
  EngineOptions ccl = option(2), tiles = option(1);
  ccl.methods = {.wolff = WolffMethod::ccl};
  tiles.methods = {.label = LabelMethod::kalentev};
  const Graph plane = build_graph({{36, 22}, 0.1, Rule::rewire, 3});
  const Graph listed = imported_graph(hubs(250, 60, 4), "hubs");
  for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
    for (const ModelKind model : {ModelKind::ising, ModelKind::potts}) {
      EngineSpec spec = spec_of(local, ClusterUpdate::wolff);
      spec.model.kind = model;
      spec.model.q = model == ModelKind::potts ? 3 : 2;
      if (model == ModelKind::potts) spec.betas = {1 / 0.6, 1 / 0.9, 1 / 1.2};
      stops(plane, spec, {1, 2}, {option(1), option(2), ccl, option(5)});
      spec.cluster = ClusterUpdate::swendsen_wang;
      stops(plane, spec, {2, 1}, {option(1), tiles, option(5)});
      spec.cluster = ClusterUpdate::few_cluster;
      stops(plane, spec, {1, 2}, {option(1), option(2), option(5)});
      stops(listed, spec, {1, 1}, {option(1), option(2)});
    }
  }
}

TEST_CASE("bytespin trajectories: every instruction set gives the same bits") {
  for_each_combination([](const Graph& graph, const EngineSpec& spec) {
    std::vector<Trace> expected;
    for_each_instruction_set([&](const std::string& name) {
      INFO(name);
      const auto engine = make_bytespin_engine(graph, spec, option(1));
      const auto traces = uninterrupted(*engine, {1, 2}, 4, 2);
      if (expected.empty()) expected = traces;
      for (std::size_t k = 0; k < traces.size(); ++k) {
        CHECK(traces[k].hash == expected[k].hash);
        CHECK(same(traces[k].seen, expected[k].seen));
      }
    });
  });
}

TEST_CASE("bytespin engine: interrupted and resumed equals uninterrupted") {
  std::uint64_t seed = 1;
  for_each_combination([&seed](const Graph& graph, const EngineSpec& spec) {
    const Schedule schedules[] = {{1, 0}, {0, 1}, {2, 3}};
    check_resume(make_bytespin_engine, graph, spec, schedules[seed % 3],
                 {option(1), option(2), option(5)}, seed);
    ++seed;
  });
}

TEST_CASE("bytespin engine: one call or several are equal, and foreign states are refused") {
  std::size_t n = 0;
  for_each_combination([&n](const Graph& graph, const EngineSpec& spec) {
    const Schedule schedules[] = {{1, 0}, {0, 1}, {2, 3}};
    const Schedule& schedule = schedules[n++ % 3];
    check_cycles_add_up(make_bytespin_engine, graph, spec, schedule, option(2));
    check_foreign_states(make_bytespin_engine, graph, spec, schedule);
    check_last_step(make_bytespin_engine, graph, spec);
  });
  check_differs(make_bytespin_engine, graphs()[0],
                spec_of(LocalUpdate::glauber, ClusterUpdate::swendsen_wang), {1, 1});
}

TEST_CASE("bytespin engine: given spins") {
  for_each_combination([](const Graph& graph, EngineSpec spec) {
    check_given_spins(make_bytespin_engine, graph, spec, {1, 1}, {option(1), option(5)});
    if (spec.cluster == ClusterUpdate::few_cluster) return;
    spec.model.interactions.couplings = CouplingKind::plus_minus;
    check_given_spins(make_bytespin_engine, graph, spec, {1, 1}, {option(1), option(5)});
  });
}

TEST_CASE("bytespin engine: measured sums equal those of the spins over the edge list") {
  for_each_combination([](const Graph& graph, const EngineSpec& spec) {
    const EdgeList list = edges_of(graph);
    REQUIRE(difference(graph, list) == "");
    const auto engine = make_bytespin_engine(graph, spec, option(1));
    for (int cycle = 0; cycle < 4; ++cycle) {
      if (cycle > 0) engine->advance({1, 1}, 1);
      Observation seen;
      engine->measure(seen);
      std::vector<std::uint8_t> spins(graph.sites());
      for (std::size_t k = 0; k < seen.bond_sum.size(); ++k) {
        engine->spins(static_cast<std::uint32_t>(k / spec.replicas),
                      static_cast<std::uint32_t>(k % spec.replicas), spins);
        std::int64_t bonds = 0, m = 0;
        for (const Edge& edge : list.edges) bonds += spins[edge.a] == spins[edge.b] ? 1 : -1;
        for (const std::uint8_t s : spins) m += s == 1 ? 1 : -1;
        CHECK(seen.bond_sum[k] == bonds);
        CHECK(seen.magnetisation[k] == m);
      }
    }
  });
}

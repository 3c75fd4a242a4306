// The bitlattice engine against exact enumeration (enumeration_check.hpp), against Kaufman's torus,
// and in three dimensions against the multispin engine. Every |z| < 4. False alarms per check:
// 8.3e-5 in enumeration with 384 replicas, 6.3e-5 to 2e-4 in the other tests (about 40 checks).
#include "src/bitlattice/bitlattice.hpp"

#include <fmt/format.h>

#include "src/multispin/multispin.hpp"
#include "tests/engines/enumeration_check.hpp"
#include "tests/support/kaufman.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

const double kTcSquare = 2 / std::log(1 + std::sqrt(2.0));

std::unique_ptr<Engine> make(const Graph& graph, const EngineSpec& spec,
                             const EngineOptions& options) {
  return make_bitlattice_engine(regular_extents(graph), spec, options);
}

SmallGraph small(const std::vector<std::uint32_t>& extents,
                 const std::vector<double>& temperatures) {
  Graph graph = build_graph({extents, 0, Rule::rewire, 1});
  EdgeList list = edges_of(graph);
  std::string name = "torus";
  for (const auto extent : extents) name.append(" ").append(std::to_string(extent));
  return {name, std::move(graph), std::move(list), temperatures, extents.size() > 1};
}

struct Chain {
  LocalUpdate local;
  Start start;
  std::uint32_t replicas;
  Lengths lengths;
};

std::vector<std::vector<std::vector<double>>> rows_of(EngineMaker maker, const Graph& graph,
                                                      const std::vector<double>& temperatures,
                                                      const Chain& chain, std::uint64_t seed) {
  EngineSpec spec;
  for (const double t : temperatures) spec.betas.push_back(1 / t);
  spec.replicas = chain.replicas;
  spec.seed = seed;
  spec.local = chain.local;
  spec.start = chain.start;
  EngineOptions options;
  options.threads = 1;
  const auto engine = maker(graph, spec, options);
  return sample(*engine, spec, {1, 0}, static_cast<double>(graph.sites()), chain.lengths);
}

void compare_with_kaufman(std::uint32_t L, const std::vector<double>& temperatures,
                          const Chain& chain, std::uint64_t seed) {
  const Graph graph = build_graph({{L, L}, 0, Rule::rewire, 1});
  const auto rows = rows_of(make, graph, temperatures, chain, seed);
  for (std::size_t t = 0; t < temperatures.size(); ++t) {
    const double beta = 1 / temperatures[t], scale = double{1} * L * L * beta * beta;
    const TorusAverages exact = kaufman(static_cast<int>(L), beta);
    const Estimate heat = jackknife(rows[t], [scale](const std::vector<double>& mean) {
      return scale * (mean[kE2] - mean[kE] * mean[kE]);
    });
    const Estimate energy = column(rows[t], kE);
    INFO("L = " << L << ", T = " << temperatures[t] << ", " << to_string(chain.local)
                << ": e = " << energy.value << " +- " << energy.error << " (exact " << exact.energy
                << "), C = " << heat.value << " +- " << heat.error << " (exact "
                << exact.specific_heat << ")");
    CHECK(std::abs(energy.z(exact.energy)) < 4);
    CHECK(std::abs(heat.z(exact.specific_heat)) < 4);
  }
}

}  // namespace

TEST_CASE("bitlattice engine: Metropolis and Glauber equal enumeration") {
  const std::vector<double> square{1.9, 2.7, 4.1};
  std::vector<SmallGraph> graphs;
  graphs.push_back(small({4, 4}, square));
  graphs.push_back(small({6, 4}, square));
  graphs.push_back(small({4, 6}, square));
  graphs.push_back(small({24}, {0.9, 1.4, 2.6}));
  graphs.push_back(small({10}, {0.9, 1.4, 2.6}));
  const std::vector<oracle::Update> updates{
      {"Metropolis", LocalUpdate::metropolis, ClusterUpdate::wolff, {1, 0}},
      {"Glauber", LocalUpdate::glauber, ClusterUpdate::wolff, {1, 0}}};
  Scores scores;
  std::uint64_t seed = 61000;
  for (const SmallGraph& graph : graphs) {
    REQUIRE(difference(graph.graph, graph.list) == "");
    const IsingStates states(graph.list);
    for (const oracle::Update& update : updates) {
      if (update.local == LocalUpdate::metropolis && !graph.metropolis_mixes) continue;
      for (int run = 0; run < 3; ++run) {
        compare({graph, update, make, seed++, {384, {120, longer(80), 1}}}, states, 4, 1, scores);
      }
    }
  }
  check_distribution(scores, 300);
}

TEST_CASE("bitlattice engine: the comparison detects a wrong temperature") {
  const SmallGraph graph = small({6, 4}, {2.7});
  const IsingStates states(graph.list);
  const oracle::Update update{"Metropolis", LocalUpdate::metropolis, ClusterUpdate::wolff, {1, 0}};
  Scores scores;
  compare({graph, update, make, 62000, {384, {120, 80, 1}}}, states, 0, 1.03, scores);
  CHECK(scores.largest > 4);
}

TEST_CASE("bitlattice engine: Kaufman's e and C for L = 8 .. 64") {
  const auto metropolis = LocalUpdate::metropolis, glauber = LocalUpdate::glauber;
  const std::vector<double> all{2.0, kTcSquare, 2.4, 3.0}, off{2.0, 2.4, 3.0};
  compare_with_kaufman(8, all, {metropolis, Start::mixed, 128, {300, longer(100), 4}}, 1);
  compare_with_kaufman(8, all, {glauber, Start::mixed, 128, {400, longer(100), 4}}, 2);
  compare_with_kaufman(16, all, {metropolis, Start::cold, 64, {1500, longer(100), 20}}, 3);
  compare_with_kaufman(32, all, {metropolis, Start::cold, 32, {6000, longer(80), 50}}, 4);
  compare_with_kaufman(64, off, {metropolis, Start::cold, 32, {1500, longer(60), 20}}, 5);
  compare_with_kaufman(64, off, {glauber, Start::cold, 32, {2000, longer(60), 20}}, 6);
}

TEST_CASE("bitlattice engine: three dimensions agree with the multispin engine") {
  const Graph graph = build_graph({{8, 6, 10}, 0, Rule::rewire, 1});
  const std::vector<double> temperatures{4.0, 4.6, 6.0};
  for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
    const Chain chain{local, Start::cold, 64, {400, longer(100), 5}};
    const auto a = rows_of(make, graph, temperatures, chain, 7);
    const auto b = rows_of(make_multispin_engine, graph, temperatures, chain, 8);
    for (std::size_t t = 0; t < temperatures.size(); ++t) {
      for (const Column which : {kE, kAbsM, kM2}) {
        const Estimate x = column(a[t], which), y = column(b[t], which);
        INFO("T = " << temperatures[t] << ", " << to_string(local) << ", column " << which << ": "
                    << x.value << " +- " << x.error << ", multispin " << y.value << " +- "
                    << y.error);
        CHECK(std::abs(x.value - y.value) < 4 * std::hypot(x.error, y.error));
      }
    }
  }
}

// stop() always returns true. The smallest piece of a run is one sweep of one system.
TEST_CASE("bitlattice engine: stopped after each sweep of each system equals uninterrupted") {
  EngineSpec spec;
  spec.betas = {1 / 2.1, 1 / 2.6};
  spec.replicas = 3;
  EngineOptions options;
  options.threads = 2;
  const Graph torus = build_graph({{70, 36}, 0, Rule::rewire, 1});
  const auto whole = make(torus, spec, options);
  CHECK(whole->advance({2, 0}, 3));
  options.stop = [] { return true; };
  auto engine = make(torus, spec, options);
  int stops = 0;
  while (!engine->advance({2, 0}, 3)) {
    const EngineState state = engine->save();
    CHECK(state.step == 0);
    options.threads = 1 + ++stops % 3;
    engine = make(torus, spec, options);
    engine->restore(state);
    CHECK((engine->save().bytes == state.bytes));
  }
  CHECK(stops == 2 * 3 * 6 - 1);
  CHECK(engine->trajectory_hash() == whole->trajectory_hash());
  CHECK((engine->save().bytes == whole->save().bytes));
}

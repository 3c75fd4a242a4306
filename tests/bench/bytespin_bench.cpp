// Single engine on one core, one system: ns per flipped spin (Wolff), ns per spin (Swendsen-Wang)
// and attempted flips per ns (Metropolis).
//
//   bytespin_bench --benchmark_filter=wolff --benchmark_repetitions=5
//
// Names: update/L/p/T. T = 2.269185 is Tc(0), 2.4342 Tc(0.01) in the tree approximation. At L =
// 1024 and p = 0.01 a cluster holds 0.25 N at T = 2.38, 0.018 N at 2.43 and 0.004 N at 2.4342.
#include <benchmark/benchmark.h>

#include <fmt/format.h>

#include <memory>
#include <string>

#include "graphs/graph.hpp"
#include "src/bytespin/bytespin.hpp"

namespace {

using namespace rewise;

struct Case {
  std::uint32_t length;
  double p, temperature;
};

enum class Kind { metropolis, wolff, swendsen_wang };

EngineSpec spec_of(const Case& c, ClusterUpdate cluster) {
  EngineSpec spec;
  spec.betas = {1 / c.temperature};
  spec.replicas = 1;
  spec.start = Start::cold;
  spec.cluster = cluster;
  return spec;
}

// One system on one thread, after 60 Swendsen-Wang updates (10 or more autocorrelation times).
struct System {
  System(const Case& c, ClusterUpdate cluster)
      : graph(build_graph({{c.length, c.length}, c.p, Rule::rewire, 1})) {
    EngineOptions options;
    options.threads = 1;
    const auto before =
        make_bytespin_engine(graph, spec_of(c, ClusterUpdate::swendsen_wang), options);
    before->advance({0, 1}, 60);
    Observation pending;
    before->measure(pending);
    engine = make_bytespin_engine(graph, spec_of(c, cluster), options);
    engine->restore(before->save());
  }
  Graph graph;
  std::unique_ptr<Engine> engine;
};

// Per-site figures are from CPU time, so that other load on the machine disturbs them less.
void run(benchmark::State& state, const Case& c, Kind update) {
  System system(
      c, update == Kind::swendsen_wang ? ClusterUpdate::swendsen_wang : ClusterUpdate::wolff);
  const Schedule schedule = update == Kind::metropolis ? Schedule{4, 0}
                            : update == Kind::wolff    ? Schedule{0, 64}
                                                       : Schedule{0, 4};
  const Work before = system.engine->work();
  for (auto _ : state) system.engine->advance(schedule, 1);
  const Work after = system.engine->work();
  if (update == Kind::metropolis) {
    const auto attempts = static_cast<double>(after.local_attempts - before.local_attempts);
    state.counters["flips_per_ns"] =
        benchmark::Counter(1e-9 * attempts, benchmark::Counter::kIsRate);
    return;
  }
  const auto sites = static_cast<double>(after.cluster_sites - before.cluster_sites);
  const auto updates = static_cast<double>(after.cluster_updates - before.cluster_updates);
  state.counters["ns_per_spin"] =
      benchmark::Counter(1e-9 * sites, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["cluster_fraction"] = sites / updates / static_cast<double>(system.graph.sites());
}

void add(const std::string& name, Kind update, const Case& c) {
  benchmark::RegisterBenchmark(
      fmt::format("{}/{}/{}/{}", name, c.length, c.p, c.temperature).c_str(),
      [c, update](benchmark::State& s) { run(s, c, update); })
      ->Unit(benchmark::kMillisecond)
      ->MinTime(0.2);
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::uint32_t length : {256u, 1024u}) {
    for (const auto& [p, temperature] : {std::pair{0.0, 2.269185}, std::pair{0.01, 2.38},
                                         std::pair{0.01, 2.43}, std::pair{0.01, 2.4342}}) {
      const Case c{length, p, temperature};
      add("metropolis", Kind::metropolis, c);
      add("wolff", Kind::wolff, c);
      add("swendsen-wang", Kind::swendsen_wang, c);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}

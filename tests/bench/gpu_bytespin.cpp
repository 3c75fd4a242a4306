// Speeds of the bytespin engine on CUDA device 0, for RESULTS.md: bench_bytespin_gpu [name ...]
// Names: swendsen-wang, metropolis, potts, potts-wolff, measure; all by default. Medians of five
// pieces after a warm-up. With --brief one row of each.
#include <fmt/format.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "graphs/graph.hpp"
#include "src/base/clock.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/methods.hpp"
#include "src/engine/registry.hpp"
#include "tests/bench/seconds_per_cycle.hpp"

namespace {

using namespace rewise;

using Row = std::tuple<std::vector<std::uint32_t>, double, double, std::uint32_t>;

std::unique_ptr<Engine> prepare(const Graph& graph, double temperature, std::uint32_t replicas) {
  EngineSpec spec;
  spec.betas = {1 / temperature};
  spec.replicas = replicas;
  spec.start = Start::cold;
  spec.cluster = ClusterUpdate::swendsen_wang;
  EngineOptions options;
  options.device = 0;
  return make_bytespin_engine(graph, spec, options);
}

const std::vector<Row> kRows{{{4096, 4096}, 0.0, 2.269185, 1}, {{4096, 4096}, 0.01, 2.43, 1},
                             {{4096, 4096}, 0.1, 2.78, 1},     {{1024, 1024}, 0.0, 2.269185, 1},
                             {{1024, 1024}, 0.01, 2.43, 1},    {{1024, 1024}, 0.0, 2.269185, 64},
                             {{32, 32}, 0.0, 2.269185, 4096},  {{128, 128, 128}, 0.0, 4.5115, 1}};

void time_rows(const char* what, const Schedule& schedule, bool brief) {
  fmt::print("bytespin {}, sites per ns\n", what);
  for (const auto& [extents, p, t, systems] : kRows) {
    const Graph graph = build_graph({extents, p, Rule::rewire, 1});
    auto e = prepare(graph, t, systems);
    e->advance({0, 1}, 30);
    const double s = seconds_per_cycle(*e, schedule, brief ? 4 : 100);
    fmt::print("  d={} L={:<5} p={:<5} T={:<7.4f} systems={:<5} {:8.1f}   {:.1f} us\n",
               extents.size(), extents[0], p, t, systems,
               static_cast<double>(graph.sites()) * systems / s * 1e-9, s * 1e6);
    if (brief) return;
  }
}

// q = 3 at the transition of the square lattice, Tc = 1 / log(1 + sqrt 3).
constexpr double kPottsTc = 0.994972861;

std::unique_ptr<Engine> prepare_potts(const Graph& graph, double temperature, LocalUpdate local,
                                      ClusterUpdate cluster,
                                      WolffMethod method = WolffMethod::automatic) {
  EngineSpec spec;
  spec.model = {ModelKind::potts, 3};
  spec.betas = {1 / temperature};
  spec.replicas = 1;
  spec.start = Start::cold;
  spec.local = local;
  spec.cluster = cluster;
  EngineOptions options;
  options.device = 0;
  options.methods = BytespinMethods{.wolff = method};
  auto engine = make_bytespin_engine(graph, spec, options);
  engine->advance({0, 1}, 30);
  return engine;
}

void potts(bool brief) {
  struct Update {
    const char* name;
    LocalUpdate local;
    ClusterUpdate cluster;
    Schedule schedule;
  };
  constexpr auto kSwendsenWang = ClusterUpdate::swendsen_wang;
  const std::vector<Update> updates{
      {"Swendsen-Wang", LocalUpdate::metropolis, kSwendsenWang, {0, 1}},
      {"few-cluster", LocalUpdate::metropolis, ClusterUpdate::few_cluster, {0, 1}},
      {"Metropolis", LocalUpdate::metropolis, kSwendsenWang, {1, 0}},
      {"heat bath", LocalUpdate::glauber, kSwendsenWang, {1, 0}}};
  fmt::print("bytespin, Potts q = 3, T = {}, sites per ns\n", kPottsTc);
  for (const std::uint32_t length : {4096u, 1024u}) {
    for (const double p : {0.0, 0.01}) {
      const Graph graph = build_graph({{length, length}, p, Rule::rewire, 1});
      for (const Update& update : updates) {
        auto e = prepare_potts(graph, kPottsTc, update.local, update.cluster);
        const double s = seconds_per_cycle(*e, update.schedule, brief ? 4 : 50);
        fmt::print("  L={:<5} p={:<5} {:<14} {:8.1f}   {:.1f} us\n", length, p, update.name,
                   static_cast<double>(graph.sites()) / s * 1e-9, s * 1e6);
        Observation observation;
        const double start = now();
        for (int i = 0; i < 20; ++i) e->measure(observation);
        if (&update == &updates[0]) {
          fmt::print("  L={:<5} p={:<5} measurement               {:.1f} us\n", length, p,
                     (now() - start) / 20 * 1e6);
        }
      }
      if (brief) return;
    }
  }
}

// Near the transitions.
void potts_wolff(bool brief) {
  fmt::print("bytespin, Potts q = 3, Wolff, us per update (sites per update)\n");
  for (const auto& [p, t] : std::vector<std::pair<double, double>>{
           {0.0, kPottsTc}, {0.01, 1.05}, {0.01, 1.06}, {0.01, 1.07}}) {
    const Graph graph = build_graph({{1024, 1024}, p, Rule::rewire, 1});
    for (const char* name : {"frontier", "frontier-local", "persistent", "ccl"}) {
      const WolffMethod method = parse_wolff_method(name, "method");
      auto e = prepare_potts(graph, t, LocalUpdate::metropolis, ClusterUpdate::wolff, method);
      e->advance({2, 4}, 10);
      const Work before = e->work();
      const double s = seconds_per_cycle(*e, {0, 16}, brief ? 1 : 2) / 16;
      const Work after = e->work();
      fmt::print("  L=1024 p={:<5} T={:<7.4f} {:<15} {:8.1f}   ({:.0f})\n", p, t, name, s * 1e6,
                 static_cast<double>(after.cluster_sites - before.cluster_sites) /
                     static_cast<double>(after.cluster_updates - before.cluster_updates));
    }
    if (brief) return;
  }
}

void measure() {
  for (const double p : {0.0, 0.01}) {
    const Graph graph = build_graph({{4096, 4096}, p, Rule::rewire, 1});
    auto e = prepare(graph, 2.3, 1);
    const double sweep = seconds_per_cycle(*e, {1, 0}, 50);
    Observation observation;
    e->measure(observation);
    const double start = now();
    for (int i = 0; i < 50; ++i) e->measure(observation);
    const double seconds = (now() - start) / 50;
    fmt::print("measurement, L = 4096, p = {}: {:.1f} us, {:.2f} of a Metropolis sweep\n", p,
               seconds * 1e6, seconds / sweep);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::set<std::string> names(argv + 1, argv + argc);
  const bool brief = names.erase("--brief") > 0;
  const auto wanted = [&](const char* name) { return names.empty() || names.count(name) > 0; };
  if (wanted("swendsen-wang")) time_rows("Swendsen-Wang", {0, 1}, brief);
  if (wanted("metropolis")) time_rows("Metropolis", {1, 0}, brief);
  if (wanted("potts")) potts(brief);
  if (wanted("potts-wolff")) potts_wolff(brief);
  if (wanted("measure")) measure();
}

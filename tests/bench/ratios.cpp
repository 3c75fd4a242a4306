// Speeds of the CPU engines and their ratios, all from one run: the figures of RESULTS.md.
//   bench_ratios [--quick]
// Each figure is the median of five timed pieces after a warm-up, wall-clock, at an equilibrated
// configuration (cold start, mixed updates). Run it on an otherwise idle machine.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/graph.hpp"
#include "src/base/clock.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/multispin/multispin.hpp"

namespace {

using namespace rewise;

struct Setting {
  bool quick = false;
  int repeats() const { return quick ? 3 : 5; }
};

// One engine at one temperature, equilibrated by mixed updates.
std::unique_ptr<Engine> prepare(const Graph& graph, std::string_view engine, double temperature,
                                std::uint32_t replicas, int threads, bool equilibrate,
                                ClusterUpdate cluster, const Setting& setting) {
  EngineSpec spec;
  spec.betas = {1 / temperature};
  spec.replicas = replicas;
  spec.cluster = cluster;
  spec.start = Start::cold;
  EngineOptions options;
  options.threads = threads;
  auto result = engine == "multispin" ? make_multispin_engine(graph, spec, options)
                                      : make_bytespin_engine(graph, spec, options);
  if (equilibrate) result->advance({1, 2}, setting.quick ? 5 : 40);
  return result;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Pieces {
  double seconds_per_cycle = 0;
  double cluster_sites_per_cycle = 0;  // all replicas
};

Pieces time_cycles(Engine& engine, const Schedule& schedule, std::uint64_t cycles,
                   const Setting& setting) {
  engine.advance(schedule, 1);
  std::vector<double> seconds;
  const std::uint64_t before = engine.work().cluster_sites;
  for (int i = 0; i < setting.repeats(); ++i) {
    const double start = now();
    engine.advance(schedule, cycles);
    seconds.push_back((now() - start) / static_cast<double>(cycles));
  }
  const auto sites = static_cast<double>(engine.work().cluster_sites - before);
  return {median(seconds),
          sites / static_cast<double>(cycles * static_cast<unsigned>(setting.repeats()))};
}

Graph lattice(std::uint32_t edge, double p) {
  return build_graph({{edge, edge}, p, Rule::rewire, 1});
}

double metropolis_rate(std::string_view engine, std::uint32_t edge, double p, double temperature,
                       std::uint32_t replicas, int threads, const Setting& setting) {
  const Graph graph = lattice(edge, p);
  const auto e =
      prepare(graph, engine, temperature, replicas, threads, false, ClusterUpdate::wolff, setting);
  e->advance({1, 0}, engine == "multispin" ? 20 : 5);
  const Pieces pieces = time_cycles(*e, {1, 0}, engine == "multispin" ? 20 : 3, setting);
  return static_cast<double>(graph.sites()) * replicas / pieces.seconds_per_cycle * 1e-9;
}

void metropolis(const Setting& setting) {
  fmt::print("Metropolis, one core, 2D L = 1024, attempted updates per ns (32 replicas)\n");
  const double single = metropolis_rate("bytespin", 1024, 0.01, 2.43, 2, 1, setting);
  fmt::print("  bytespin p=0.01 T=2.43          {:7.3f}\n", single);
  for (const auto& [p, t] :
       std::vector<std::pair<double, double>>{{0.0, 2.269185}, {0.01, 2.43}, {0.1, 2.78}}) {
    const double rate = metropolis_rate("multispin", 1024, p, t, 32, 1, setting);
    fmt::print("  multispin p={:<4} T={:<5.3g}         {:7.3f}   x{:.1f} of bytespin at p=0.01\n",
               p, t, rate, rate / single);
  }
  for (const std::uint32_t edge : {32u, 256u}) {
    fmt::print("  multispin p=0.01 L={:<4}           {:7.3f}\n", edge,
               metropolis_rate("multispin", edge, 0.01, 2.43, 32, 1, setting));
  }
  const double one = metropolis_rate("multispin", 1024, 0.01, 2.43, 64, 1, setting);
  const double two = metropolis_rate("multispin", 1024, 0.01, 2.43, 64, 2, setting);
  fmt::print("  two threads, two word groups: x{:.2f}\n", two / one);
  const double shared = metropolis_rate("multispin", 1024, 0.01, 2.43, 32, 2, setting);
  fmt::print("  two threads, one word group:  x{:.2f}\n",
             shared / metropolis_rate("multispin", 1024, 0.01, 2.43, 32, 1, setting));
}

void measurement(const Setting& setting) {
  const Graph graph = lattice(1024, 0.01);
  const auto e = prepare(graph, "multispin", 2.43, 32, 1, false, ClusterUpdate::wolff, setting);
  const Pieces sweep = time_cycles(*e, {1, 0}, 10, setting);
  Observation observation;
  std::vector<double> seconds;
  for (int i = 0; i < 9; ++i) {
    const double start = now();
    e->measure(observation);
    seconds.push_back(now() - start);
  }
  fmt::print("Measurement of a word group, L = 1024, p = 0.01: {:.2f} of a Metropolis sweep\n",
             median(seconds) / sweep.seconds_per_cycle);
}

void wolff(const Setting& setting) {
  fmt::print("Wolff, one core, 2D L = 1024, p = 0.01, schedule 0:64\n");
  for (const double t : {2.38, 2.43}) {
    const Graph graph = lattice(1024, 0.01);
    double per_update[2], per_site[2];
    for (int k = 0; k < 2; ++k) {
      const std::uint32_t replicas = k == 0 ? 32 : 2;
      const auto e = prepare(graph, k == 0 ? "multispin" : "bytespin", t, replicas, 1, true,
                             ClusterUpdate::wolff, setting);
      const Pieces pieces = time_cycles(*e, {0, 64}, k == 0 || t < 2.4 ? 1 : 4, setting);
      per_update[k] = pieces.seconds_per_cycle / (64.0 * replicas) * 1e6;
      per_site[k] = pieces.seconds_per_cycle / pieces.cluster_sites_per_cycle * 1e9;
    }
    fmt::print(
        "  T={}: multispin {:.2f} ns, bytespin {:.2f} ns per flipped spin: x{:.2f}; per update and "
        "replica {:.1f} us, {:.1f} us\n",
        t, per_site[0], per_site[1], per_site[1] / per_site[0], per_update[0], per_update[1]);
  }
  const Graph regular = lattice(1024, 0.0);
  for (const std::string_view name : {"multispin", "bytespin"}) {
    const auto e = prepare(regular, name, 2.269185, name == "multispin" ? 32 : 2, 1, true,
                           ClusterUpdate::wolff, setting);
    const Pieces pieces = time_cycles(*e, {0, 8}, 1, setting);
    fmt::print("  p=0, Tc: {} {:.2f} ns per flipped spin\n", name,
               pieces.seconds_per_cycle / pieces.cluster_sites_per_cycle * 1e9);
  }
}

void swendsen_wang(const Setting& setting) {
  fmt::print("Swendsen-Wang, bytespin engine, one core, 2D L = 1024\n");
  for (const auto& [p, t] :
       std::vector<std::pair<double, double>>{{0.0, 2.269185}, {0.01, 2.43}, {0.1, 2.78}}) {
    const Graph graph = lattice(1024, p);
    const auto e = prepare(graph, "bytespin", t, 1, 1, true, ClusterUpdate::swendsen_wang, setting);
    const Pieces pieces = time_cycles(*e, {0, 1}, 5, setting);
    fmt::print("  p={:<4} T={:<5.4g}: {:.2f} ns per spin\n", p, t,
               pieces.seconds_per_cycle / static_cast<double>(graph.sites()) * 1e9);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Setting setting;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--quick") {
      setting.quick = true;
    } else {
      fmt::print(stderr, "usage: bench_ratios [--quick]\n");
      return 64;
    }
  }
  metropolis(setting);
  measurement(setting);
  wolff(setting);
  swendsen_wang(setting);
}

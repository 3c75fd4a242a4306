// Speeds of the multispin engine on CUDA device 0, for RESULTS.md: bench_gpu [name ...]
// Names: metropolis, many, many-wolff, many-swendsen-wang, swendsen-wang, wolff, wolff-forms,
// measure; all by default. Medians of five pieces after a warm-up. The Wolff row nearest Tc sits
// where the mean cluster is about 0.0035 N (T = 2.4345 on this graph).
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/base/clock.hpp"
#include "src/multispin/methods.hpp"
#include "src/multispin/multispin.hpp"
#include "tests/bench/seconds_per_cycle.hpp"

namespace {

using namespace rewise;

std::unique_ptr<Engine> prepare(const Graph& graph, double temperature, std::uint32_t replicas,
                                Start start, WolffForm form = WolffForm::automatic) {
  EngineSpec spec;
  spec.betas = {1 / temperature};
  spec.replicas = replicas;
  spec.start = start;
  EngineOptions options;
  options.device = 0;
  options.methods = MultispinMethods{form};
  return make_multispin_engine(graph, spec, options);
}

void metropolis() {
  fmt::print("multispin Metropolis, 2D, 256 replicas, attempted updates per ns\n");
  for (const auto& [edge, p, t] :
       std::vector<std::tuple<std::uint32_t, double, double>>{{1024, 0.0, 2.269185},
                                                              {1024, 0.01, 2.43},
                                                              {1024, 0.1, 2.78},
                                                              {1024, 1.0, 3.5},
                                                              {256, 0.01, 2.43},
                                                              {64, 0.01, 2.43}}) {
    const Graph graph = build_graph({{edge, edge}, p, Rule::rewire, 1});
    auto e = prepare(graph, t, 256, Start::cold);
    const double s = seconds_per_cycle(*e, {1, 0}, 200);
    fmt::print("  L={:<5} p={:<5} T={:<5.3f} {:8.0f}   {:.1f} us per sweep\n", edge, p, t,
               static_cast<double>(graph.sites()) * 256 / s * 1e-9, s * 1e6);
  }
}

// Many small graphs that share their launches: p = 0.01, T = 2.43, 256 replicas of each.
struct Fleet {
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<GroupTask> tasks;
  std::unique_ptr<EngineBatch> batch;
  std::vector<std::size_t> who;

  Fleet(std::uint32_t edge, std::size_t count, ClusterUpdate cluster = ClusterUpdate::wolff)
      : who(count) {
    std::iota(who.begin(), who.end(), std::size_t{0});
    for (const std::size_t k : who) {
      graphs.push_back(
          std::make_unique<Graph>(build_graph({{edge, edge}, 0.01, Rule::rewire, k + 1})));
      EngineSpec spec;
      spec.betas = {1 / 2.43};
      spec.replicas = 256;
      spec.seed = k;
      spec.cluster = cluster;
      tasks.push_back({*graphs.back(), spec});
    }
    EngineOptions options;
    options.device = 0;
    batch = make_multispin_batch(tasks, options);
  }
};

template <class F>
double median_seconds(const F& piece) {
  piece();
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) {
    const double start = now();
    piece();
    seconds.push_back(now() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[2];
}

constexpr std::pair<std::uint32_t, std::size_t> kFleets[] = {
    {1024, 1}, {256, 1}, {256, 4},  {256, 16}, {128, 16}, {128, 64}, {64, 1},
    {64, 16},  {64, 64}, {64, 256}, {32, 1},   {32, 64},  {32, 256}};

void many() {
  fmt::print(
      "many graphs per launch, multispin Metropolis, 2D, p = 0.01, 256 replicas per graph\n");
  for (const auto& [edge, count] : kFleets) {
    const double begin = now();
    Fleet f(edge, count);
    const double made = now() - begin;
    const double sweep = median_seconds([&] { f.batch->advance(f.who, {1, 0}, 256); }) / 256;
    const double both = median_seconds([&] { f.batch->sample(f.who, {1, 0}, 1, 64); }) / 64;
    fmt::print(
        "  L={:<5} {:3} graphs {:8.0f} updates per ns, {:.1f} us per sweep, {:.1f} with a "
        "measurement; made in {:.2f} s\n",
        edge, count, double(edge) * edge * 256 * static_cast<double>(count) / sweep * 1e-9,
        sweep * 1e6, both * 1e6, made);
  }
}

void many_wolff() {
  fmt::print("many graphs per launch, a sweep and a Wolff update, 2D, p = 0.01, 256 replicas\n");
  for (const auto& [edge, count] : kFleets) {
    Fleet f(edge, count);
    const double cycle = median_seconds([&] { f.batch->advance(f.who, {1, 1}, 64); }) / 64;
    fmt::print("  L={:<5} {:3} graphs {:.1f} us per cycle\n", edge, count, cycle * 1e6);
  }
}

void many_swendsen_wang() {
  fmt::print("many graphs per launch, multispin Swendsen-Wang, 2D, p = 0.01, 256 replicas\n");
  for (const auto& [edge, count] : kFleets) {
    if (edge > 256) continue;
    Fleet f(edge, count, ClusterUpdate::swendsen_wang);
    f.batch->advance(f.who, {1, 1}, 20);
    const double update = median_seconds([&] { f.batch->advance(f.who, {0, 1}, 16); }) / 16;
    fmt::print("  L={:<5} {:3} graphs {:.1f} us per update, {:.1f} sites per ns\n", edge, count,
               update * 1e6,
               double(edge) * edge * 256 * static_cast<double>(count) / update * 1e-9);
  }
}

void swendsen_wang() {
  fmt::print("multispin Swendsen-Wang, 2D, us per update of all replicas, sites per ns\n");
  for (const auto& [edge, p, t, replicas] :
       std::vector<std::tuple<std::uint32_t, double, double, std::uint32_t>>{
           {64, 0.01, 2.43, 256},
           {256, 0.01, 2.43, 256},
           {256, 0.1, 2.78, 256},
           {512, 0.01, 2.43, 256},
           {1024, 0.01, 2.43, 256},
           {1024, 0.0, 2.269185, 256},
           {1024, 0.1, 2.78, 256},
           {1024, 0.01, 2.43, 32},
           {4096, 0.01, 2.43, 32}}) {
    const Graph graph = build_graph({{edge, edge}, p, Rule::rewire, 1});
    EngineSpec spec;
    spec.betas = {1 / t};
    spec.replicas = replicas;
    spec.start = Start::cold;
    spec.cluster = ClusterUpdate::swendsen_wang;
    EngineOptions options;
    options.device = 0;
    const std::vector<std::size_t> who{0};
    const std::vector<GroupTask> tasks{{graph, spec}};
    auto batch = make_multispin_batch(tasks, options);
    batch->advance(who, {1, 1}, 20);
    const double visited = static_cast<double>(graph.sites()) * replicas;
    const auto count =
        static_cast<std::uint64_t>(std::clamp(2e9 / visited, 2.0, 64.0));  // updates of a piece
    const double plain = median_seconds([&] {
                           batch->advance(who, {0, 1}, count);
                         }) /
                         static_cast<double>(count);
    const double both = median_seconds([&] {
                          batch->sample(who, {0, 1}, 1, count);
                        }) /
                        static_cast<double>(count);
    fmt::print(
        "  L={:<5} p={:<5} T={:<6.3f} {:4} replicas {:9.1f} us {:6.1f}; measured too "
        "{:9.1f} us {:6.1f}\n",
        edge, p, t, replicas, plain * 1e6, visited / plain * 1e-9, both * 1e6,
        visited / both * 1e-9);
  }
}

// `updates` a launch: as long runs of them have, and as a cycle of sweeps and one of them has.
void wolff() {
  struct Row {
    std::uint32_t edge;
    double p, t;
    std::uint32_t replicas, updates;
  };
  fmt::print("multispin Wolff, 2D, sparse form\n");
  for (const Row& r : {Row{1024, 0.01, 2.4345, 1024, 64}, Row{1024, 0.01, 2.38, 1024, 64},
                       Row{1024, 0.0, 2.269185, 1024, 64}, Row{1024, 0.1, 2.784, 1024, 32},
                       Row{2048, 0.01, 2.4345, 512, 16}, Row{2048, 0.1, 2.784, 512, 16},
                       Row{512, 0.01, 2.4345, 1024, 1}, Row{512, 0.1, 2.784, 1024, 1},
                       Row{512, 0.1, 2.784, 1024, 16}, Row{512, 1.0, 3.658, 1024, 1},
                       Row{256, 0.1, 2.784, 4096, 1}, Row{128, 0.1, 2.784, 8192, 1},
                       Row{64, 0.1, 2.784, 8192, 1}}) {
    const Graph graph = build_graph({{r.edge, r.edge}, r.p, Rule::rewire, 1});
    auto e = prepare(graph, r.t, r.replicas, Start::cold, WolffForm::sparse);
    e->advance({8, 4}, 60);
    const std::uint64_t cycles = r.updates < 16 ? 16 : 1, before = e->work().cluster_sites;
    const double s = seconds_per_cycle(*e, {0, r.updates}, cycles);
    const double pieces = 6 * static_cast<double>(cycles);  // one of which is not timed
    const double sites = static_cast<double>(e->work().cluster_sites - before) / pieces;
    const double each = static_cast<double>(r.updates) * r.replicas;
    fmt::print(
        "  L={:<4} p={:<4} T={:<6.4f} {:5} replicas, {:2} a launch: {:7.4f} us per update and "
        "replica, {:5.2f} flipped spins per ns, mean cluster {:.4f} N\n",
        r.edge, r.p, r.t, r.replicas, r.updates, s / each * 1e6, sites / s * 1e-9,
        sites / each / static_cast<double>(graph.sites()));
  }
}

// The same in the one form and the other, from the same configurations; `updates` a launch.
void wolff_forms() {
  struct Row {
    std::size_t dim;
    std::uint32_t edge;
    double p, t;
    std::uint32_t updates;
  };
  fmt::print("multispin Wolff by form, us per update and replica\n");
  for (const Row& r :
       {Row{2, 256, 0.01, 2.41, 16},    Row{2, 256, 0.01, 2.38, 16},   Row{2, 256, 0.1, 2.7, 16},
        Row{2, 256, 0.1, 2.7, 1},       Row{2, 512, 0.0, 2.28, 16},    Row{2, 512, 0.0, 2.2692, 16},
        Row{2, 512, 0.01, 2.42, 16},    Row{2, 512, 0.01, 2.41, 16},   Row{2, 512, 0.01, 2.41, 1},
        Row{2, 512, 0.1, 2.73, 16},     Row{2, 512, 0.1, 2.73, 1},     Row{2, 512, 0.1, 2.7, 16},
        Row{2, 512, 0.1, 2.7, 1},       Row{2, 512, 1.0, 3.5, 16},     Row{2, 512, 1.0, 3.5, 1},
        Row{2, 1024, 0.01, 2.4345, 16}, Row{2, 1024, 0.01, 2.425, 16}, Row{2, 1024, 0.01, 2.42, 16},
        Row{2, 1024, 0.01, 2.38, 16},   Row{2, 1024, 0.1, 2.73, 16},   Row{2, 1024, 0.1, 2.7, 16},
        Row{2, 1024, 0.0, 2.2692, 16},  Row{2, 2048, 0.01, 2.42, 16},  Row{2, 2048, 0.1, 2.74, 16},
        Row{2, 128, 0.3, 2.9, 1},       Row{2, 128, 0.3, 2.4, 1},      Row{2, 512, 0.3, 2.9, 16},
        Row{2, 512, 0.3, 2.6, 16},      Row{2, 1024, 0.3, 2.95, 16},   Row{2, 128, 1.0, 3.2, 1},
        Row{2, 128, 1.0, 2.0, 1},       Row{2, 256, 1.0, 3.3, 16},     Row{2, 512, 1.0, 3.2, 16},
        Row{2, 512, 1.0, 2.5, 16},      Row{3, 32, 0.1, 4.75, 16},     Row{3, 32, 0.1, 4.6, 16},
        Row{3, 64, 0.01, 4.5, 16},      Row{3, 64, 0.1, 4.75, 16},     Row{3, 64, 0.1, 4.75, 1},
        Row{3, 64, 0.1, 4.65, 16}}) {
    const Graph graph =
        build_graph({std::vector<std::uint32_t>(r.dim, r.edge), r.p, Rule::rewire, 1});
    const std::uint32_t replicas = graph.sites() > 1u << 20 ? 256 : 1024;
    auto source = prepare(graph, r.t, replicas, Start::cold, WolffForm::dense);
    source->advance({1, 4}, 40);
    const EngineState state = source->save();
    source.reset();
    fmt::print("  {}D L={:<4} p={:<5} T={:<6.4f} {:2} a launch ", r.dim, r.edge, r.p, r.t,
               r.updates);
    double share = 0;
    for (const WolffForm form : {WolffForm::sparse, WolffForm::dense, WolffForm::automatic}) {
      auto e = prepare(graph, r.t, replicas, Start::cold, form);
      e->restore(state);
      e->advance({0, 16}, 1);
      const std::uint64_t before = e->work().cluster_sites, cycles = 16 / r.updates;
      const double s = seconds_per_cycle(*e, {0, r.updates}, cycles);
      share = static_cast<double>(e->work().cluster_sites - before) / (6 * 16.0 * replicas);
      fmt::print("  {} {:6.3f}",
                 form == WolffForm::sparse  ? "sparse"
                 : form == WolffForm::dense ? "dense"
                                            : "automatic",
                 s / (static_cast<double>(r.updates) * replicas) * 1e6);
    }
    fmt::print("  mean cluster {:.4f} N\n", share / static_cast<double>(graph.sites()));
  }
}

void measure() {
  const Graph graph = build_graph({{1024, 1024}, 0.01, Rule::rewire, 1});
  auto e = prepare(graph, 2.43, 256, Start::cold);
  const double sweep = seconds_per_cycle(*e, {1, 0}, 100);
  Observation observation;
  e->measure(observation);
  const double start = now();
  for (int i = 0; i < 50; ++i) e->measure(observation);
  const double seconds = (now() - start) / 50;
  fmt::print("measurement: {:.1f} us, {:.2f} of a Metropolis sweep\n", seconds * 1e6,
             seconds / sweep);
}

}  // namespace

int main(int argc, char** argv) {
  std::set<std::string> names(argv + 1, argv + argc);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto wanted = [&](const char* name) { return names.empty() || names.count(name) > 0; };
  if (wanted("metropolis")) metropolis();
  if (wanted("many")) many();
  if (wanted("many-wolff")) many_wolff();
  if (wanted("many-swendsen-wang")) many_swendsen_wang();
  if (wanted("swendsen-wang")) swendsen_wang();
  if (wanted("wolff")) wolff();
  if (wanted("wolff-forms")) wolff_forms();
  if (wanted("measure")) measure();
}

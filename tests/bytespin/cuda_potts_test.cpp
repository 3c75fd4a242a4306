// The Potts model on the bytespin engine makes the same moves on CUDA as on the CPU, bit for bit.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/methods.hpp"
#include "src/engine/registry.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/edge_list.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace cuda_potts_test {
namespace {

// A local and a cluster update, their schedule, and the method of the Wolff update.
struct Run {
  LocalUpdate local;
  ClusterUpdate cluster;
  Schedule schedule;
  WolffMethod method = WolffMethod::automatic;
};

constexpr LocalUpdate kMetropolis = LocalUpdate::metropolis, kGlauber = LocalUpdate::glauber;
constexpr ClusterUpdate kWolff = ClusterUpdate::wolff;
constexpr ClusterUpdate kSwendsenWang = ClusterUpdate::swendsen_wang;

const std::vector<Run> kRuns{{kMetropolis, kWolff, {1, 0}},
                             {kGlauber, kWolff, {1, 0}},
                             {kMetropolis, kSwendsenWang, {0, 4}},
                             {kGlauber, kSwendsenWang, {1, 2}},
                             {kMetropolis, kWolff, {0, 4}},
                             {kMetropolis, kWolff, {0, 4}, WolffMethod::frontier},
                             {kMetropolis, kWolff, {1, 3}, WolffMethod::frontier_local},
                             {kGlauber, kWolff, {1, 3}, WolffMethod::persistent},
                             {kMetropolis, kWolff, {1, 3}, WolffMethod::ccl}};
constexpr std::array<std::uint32_t, 5> kStates{2, 3, 4, 7, 255};

// Temperatures above, at and below the transition of the square lattice.
EngineSpec spec_of(std::uint32_t q, const Run& run, std::uint32_t replicas = 2) {
  const double beta = std::log(1 + std::sqrt(static_cast<double>(q)));
  EngineSpec spec;
  spec.model = {ModelKind::potts, q};
  spec.betas = {0.6 * beta, beta, 1.4 * beta};
  spec.replicas = replicas;
  spec.seed = 20261122;
  spec.local = run.local;
  spec.cluster = run.cluster;
  return spec;
}

std::unique_ptr<Engine> engine(const Graph& graph, const EngineSpec& spec, const Run& run,
                               int device) {
  EngineOptions options;
  options.threads = 4;
  options.device = device;
  if (device >= 0 || run.method == WolffMethod::ccl) options.methods = {.wolff = run.method};
  return make_bytespin_engine(graph, spec, options);
}

void same(Engine& a, Engine& b) {
  check_same(a, b);
  CHECK(a.work().cluster_sites == b.work().cluster_sites);
}

// Compares the start, and the spins and sums after each half of about `steps` steps.
void check(const Graph& graph, const EngineSpec& spec, const Run& run, std::uint64_t steps) {
  INFO(graph.sites() << " sites, " << graph.bonds() << " bonds, q " << spec.model.q << ", "
                     << std::string(to_string(spec.local)) << ", "
                     << std::string(to_string(spec.cluster)) << " " << to_string(run.method) << ", "
                     << to_string(run.schedule));
  const auto cpu = engine(graph, spec, run, -1), gpu = engine(graph, spec, run, 0);
  same(*cpu, *gpu);
  const std::uint64_t cycles = steps / 2 / run.schedule.steps_per_cycle() + 1;
  for (int half = 0; half < 2; ++half) {
    cpu->advance(run.schedule, cycles);
    gpu->advance(run.schedule, cycles);
    same(*cpu, *gpu);
  }
}

}  // namespace

TEST_CASE("Potts on CUDA equals the CPU over lattices, rules, states and updates", "[gpu]") {
  const std::vector<std::vector<std::uint32_t>> shapes{
      {24},        {70},       {2300},       {4, 4},        {34, 6},       {36, 70},
      {64, 64},    {96, 34},   {130, 22},    {200, 12},     {6, 4, 8},     {34, 10, 6},
      {16, 16, 8}, {64, 8, 6}, {4, 4, 4, 6}, {34, 4, 6, 4}, {32, 4, 6, 4}, {80, 4, 4, 4},
      {192, 70},   {64, 36},   {128, 10, 6}, {64, 4, 6, 4}};
  std::size_t graphs = 0, cases = 0;
  for (const auto& shape : shapes) {
    for (const double p : {0.0, 0.05, 1.0}) {
      for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
        if (p == 0.0 && rule != Rule::rewire) continue;
        if (shape.size() == 1 && shape[0] < 70 && rule != Rule::rewire) continue;
        const Graph graph = build_graph({shape, p, rule, 7});
        // Every update on every second graph, with another number of states each time.
        for (std::size_t r = graphs % 2; r < kRuns.size(); r += 2, ++cases) {
          const std::uint32_t q = kStates[(graphs / 2 + r) % kStates.size()];
          check(graph, spec_of(q, kRuns[r]), kRuns[r], 24);
        }
        ++graphs;
      }
    }
  }
  CHECK(cases >= 60);
}

TEST_CASE("Potts on CUDA equals the CPU for several numbers of states", "[gpu]") {
  const Graph graph = build_graph({{66, 34}, 0.1, Rule::add, 3});
  for (const std::uint32_t q : kStates) {
    for (const Run& run : kRuns) check(graph, spec_of(q, run), run, 60);
  }
}

TEST_CASE("Potts on CUDA equals the CPU on imported graphs with hubs and several colours",
          "[gpu]") {
  for (const Graph& graph : {oracle::imported_graph(oracle::hubs(25, 6, 4), "hubs"),
                             oracle::imported_graph(oracle::complete(20), "complete"),
                             oracle::imported_graph(oracle::hubs(1500, 2, 2), "large hubs")}) {
    for (const std::uint32_t q : {2u, 4u, 255u}) {
      for (const Run& run : kRuns) {
        EngineSpec spec = spec_of(q, run);
        spec.betas = {0.1, 0.5, 1.2};
        check(graph, spec, run, 24);
      }
    }
  }
}

TEST_CASE("Potts on CUDA equals the CPU on lattices of many tiles", "[gpu]") {
  for (const double p : {0.0, 0.02}) {
    for (const std::vector<std::uint32_t>& shape :
         {std::vector<std::uint32_t>{640, 480}, std::vector<std::uint32_t>{500, 300}}) {
      const Graph graph = build_graph({shape, p, Rule::rewire, 5});
      for (const Run& run : kRuns) check(graph, spec_of(3, run, 1), run, 4);
    }
  }
}

TEST_CASE("Potts on CUDA equals the CPU over many Swendsen-Wang updates in one call", "[gpu]") {
  const Run run{kMetropolis, kSwendsenWang, {0, 5}};
  for (const double p : {0.0, 0.05}) {
    for (const std::uint32_t q : {2u, 3u, 255u}) {
      check(build_graph({{256, 192}, p, Rule::rewire, 5}), spec_of(q, run, 1), run, 150);
      check(build_graph({{64, 12, 10}, p, Rule::rewire, 5}), spec_of(q, run), run, 150);
    }
  }
  check(build_graph({{2048, 1030}, 0.01, Rule::rewire, 5}), spec_of(3, run, 1), run, 20);
}

TEST_CASE("Potts on CUDA: hot, cold and mixed starts equal those of the CPU", "[gpu]") {
  const Graph graph = build_graph({{30, 10}, 0.1, Rule::rewire, 3});
  for (const Start start : {Start::hot, Start::cold, Start::mixed}) {
    for (const std::uint32_t q : kStates) {
      EngineSpec spec = spec_of(q, kRuns[0], 3);
      spec.start = start;
      const auto cpu = engine(graph, spec, kRuns[0], -1), gpu = engine(graph, spec, kRuns[0], 0);
      same(*cpu, *gpu);
    }
  }
}

TEST_CASE("Potts: a checkpoint moves between CPU and CUDA", "[gpu]") {
  const Graph graph = build_graph({{34, 20}, 0.1, Rule::rewire, 3});
  for (const Run& run : kRuns) {
    const EngineSpec spec = spec_of(4, run);
    const auto whole = engine(graph, spec, run, -1);
    whole->advance(run.schedule, 25);
    for (const int first : {-1, 0}) {
      INFO(std::string(to_string(spec.cluster))
           << " " << to_string(run.method) << " from device " << first);
      const auto one = engine(graph, spec, run, first);
      one->advance(run.schedule, 10);
      const auto two = engine(graph, spec, run, first == 0 ? -1 : 0);
      two->restore(one->save());
      two->advance(run.schedule, 15);
      CHECK(two->save().bytes == whole->save().bytes);
      CHECK(two->save().step == whole->save().step);
    }
  }
}

TEST_CASE("Potts with two states on CUDA has another trajectory than Ising", "[gpu]") {
  const Graph graph = build_graph({{32, 16}, 0.1, Rule::rewire, 3});
  EngineSpec spec = spec_of(2, kRuns[2]);
  const auto potts = engine(graph, spec, kRuns[2], 0);
  spec.model.kind = ModelKind::ising;
  const auto ising = engine(graph, spec, kRuns[2], 0);
  potts->advance({0, 1}, 5);
  ising->advance({0, 1}, 5);
  CHECK(potts->trajectory_hash() != ising->trajectory_hash());
}

// Two cases, because Wolff searches launch many kernels and sanitizers slow down each launch.
TEST_CASE("Potts on CUDA: short runs without Wolff searches, for the sanitizers", "[gpu]") {
  const Graph hubs = oracle::imported_graph(oracle::hubs(25, 6, 4), "hubs");
  const Graph solid = build_graph({{6, 4, 8}, 0.3, Rule::add, 2});
  const Graph rows = build_graph({{96, 34}, 0.1, Rule::rewire, 2});
  const Graph words = build_graph({{64, 38}, 0.1, Rule::rewire, 2});
  const Run ccl{kMetropolis, kWolff, {0, 1}, WolffMethod::ccl};
  for (const Run& run : {kRuns[0], kRuns[1], kRuns[2], ccl}) {
    check(hubs, spec_of(255, run, 1), run, 2);
    check(solid, spec_of(3, run, 1), run, 2);
    check(rows, spec_of(3, run, 1), run, 2);
    check(words, spec_of(3, run, 1), run, 2);
  }
}

TEST_CASE("Potts on CUDA: short runs of Wolff searches, for the sanitizers", "[gpu]") {
  const Graph hubs = oracle::imported_graph(oracle::hubs(25, 6, 4), "hubs");
  const Graph rows = build_graph({{32, 34}, 0.1, Rule::rewire, 2});
  for (const WolffMethod method :
       {WolffMethod::frontier, WolffMethod::frontier_local, WolffMethod::persistent}) {
    const Run run{kMetropolis, kWolff, {0, 1}, method};
    check(hubs, spec_of(255, run, 1), run, 2);
    check(rows, spec_of(3, run, 1), run, 2);
  }
}

}  // namespace cuda_potts_test

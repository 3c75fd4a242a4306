// The bytespin engine makes the same moves on CUDA as on the CPU, bit for bit.
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "graphs/graph.hpp"
#include "src/base/error.hpp"
#include "src/bytespin/bytespin.hpp"
#include "tests/engines/identity_check.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_moves.hpp"

namespace cuda_identity_test {
namespace {

using namespace rewise;
using namespace rewise::oracle;

// Extents below, at and above those of a tile (64 x 32, 64 x 8 x 4 and 64 x 4 x 4 x 2 sites), with
// row lengths that are and are not multiples of 16, 32 and 64.
std::vector<LatticeCase> lattices() {
  const std::vector<std::vector<std::uint32_t>> shapes{
      {24},          {70},          {1000},      {4096},       {6002},       {4, 4},
      {4, 6},        {34, 6},       {36, 70},    {64, 64},     {128, 36},    {200, 66},
      {130, 22},     {6, 4, 8},     {34, 10, 6}, {16, 16, 8},  {64, 8, 6},   {4, 4, 4, 6},
      {34, 4, 6, 4}, {80, 4, 6, 4}, {192, 70},   {128, 10, 6}, {64, 4, 6, 4}};
  return lattice_cases(shapes);
}

// A local and a cluster update, their schedule, and the number of replicas.
struct Run {
  LocalUpdate local;
  ClusterUpdate cluster;
  Schedule schedule;
  std::uint32_t temperatures, replicas;
};

const std::vector<Run> kRuns{{LocalUpdate::metropolis, ClusterUpdate::wolff, {1, 0}, 2, 2},
                             {LocalUpdate::glauber, ClusterUpdate::wolff, {1, 0}, 1, 3},
                             {LocalUpdate::metropolis, ClusterUpdate::swendsen_wang, {0, 4}, 1, 2},
                             {LocalUpdate::glauber, ClusterUpdate::swendsen_wang, {2, 3}, 3, 2},
                             {LocalUpdate::metropolis, ClusterUpdate::wolff, {1, 1}, 1, 2}};

std::unique_ptr<Engine> engine(const Graph& graph, const Run& run, int device) {
  EngineSpec spec;
  spec.local = run.local;
  spec.cluster = run.cluster;
  for (std::uint32_t t = 0; t < run.temperatures; ++t) spec.betas.push_back(1 / (2.1 + 0.5 * t));
  spec.replicas = run.replicas;
  spec.seed = 20260101;
  EngineOptions options;
  options.threads = 4;
  options.device = device;
  return make_bytespin_engine(graph, spec, options);
}

void same(Engine& a, Engine& b) {
  check_same(a, b);
  CHECK(a.work().local_attempts == b.work().local_attempts);
  CHECK(a.work().cluster_updates == b.work().cluster_updates);
  CHECK(a.work().cluster_sites == b.work().cluster_sites);
}

std::string describe(const Run& run) {
  return std::string(to_string(run.local)) + ", " + std::string(to_string(run.cluster)) + ", " +
         to_string(run.schedule);
}

// A hub, isolated sites, odd cycles: three colours, degrees 0 to 90.
Graph irregular(std::uint32_t sites) {
  std::vector<std::uint8_t> colour(sites, 0);
  for (std::uint32_t s = 1; s < sites; ++s) colour[s] = static_cast<std::uint8_t>(1 + s % 2);
  std::vector<RewiredBond> bonds;
  const auto add = [&](std::uint32_t a, std::uint32_t b) {
    if (colour[a] != colour[b]) bonds.push_back({bonds.size(), a, b});
  };
  for (std::uint32_t s = 1; s <= 90; ++s) add(0, s);
  for (std::uint32_t s = 1; s + 50 < sites; ++s) add(s, s + 1);
  for (std::uint32_t s = 1; s + 31 < sites - 20; s += 2) add(s, s + 31 + (s + 32) % 2);
  return Graph(sites, bonds, colour, 3, "irregular");
}

}  // namespace

TEST_CASE("same moves on CUDA and CPU over lattices, rules and updates", "[gpu]") {
  std::size_t cases = 0;
  for (const LatticeCase& c : lattices()) {
    const Graph graph = build_graph({c.extents, c.p, c.rule, 7});
    for (std::size_t r = 0; r < kRuns.size(); ++r) {
      if (c.rule != Rule::rewire && r != 1 && r != 3) continue;  // two runs only, to save time
      const Run& run = kRuns[r];
      const std::uint64_t cycles = 200 / run.schedule.steps_per_cycle();
      auto cpu = engine(graph, run, -1);
      auto gpu = engine(graph, run, 0);
      CHECK(cpu->trajectory_hash() == gpu->trajectory_hash());
      cpu->advance(run.schedule, cycles);
      gpu->advance(run.schedule, cycles);
      INFO("dim " << c.extents.size() << " x " << c.extents[0] << " p " << c.p << " rule "
                  << std::string(to_string(c.rule)) << " " << describe(run));
      same(*cpu, *gpu);
      ++cases;
    }
  }
  CHECK(cases >= 60);
}

TEST_CASE("same moves on CUDA and CPU on imported graphs with three colours and a hub", "[gpu]") {
  for (const std::uint32_t sites : {201u, 2500u, 5376u}) {
    const Graph graph = irregular(sites);
    graph.validate();
    for (const Run& run : kRuns) {
      INFO(sites << " sites, " << describe(run));
      auto cpu = engine(graph, run, -1);
      auto gpu = engine(graph, run, 0);
      cpu->advance(run.schedule, 40);
      gpu->advance(run.schedule, 40);
      same(*cpu, *gpu);
    }
  }
}

TEST_CASE("same moves on CUDA and CPU on a lattice of many tiles", "[gpu]") {
  for (const double p : {0.0, 0.02}) {
    const Graph graph = build_graph({{640, 480}, p, Rule::rewire, 5});
    for (const Run& run : kRuns) {
      INFO("p " << p << " " << describe(run));
      auto cpu = engine(graph, run, -1);
      auto gpu = engine(graph, run, 0);
      cpu->advance(run.schedule, 8);
      gpu->advance(run.schedule, 8);
      same(*cpu, *gpu);
    }
  }
}

TEST_CASE("a checkpoint moves between CPU and CUDA", "[gpu]") {
  const Graph graph = build_graph({{34, 20}, 0.1, Rule::rewire, 3});
  for (const Run& run : kRuns) {
    auto whole = engine(graph, run, -1);
    whole->advance(run.schedule, 50);
    for (const int first : {-1, 0}) {
      INFO(describe(run) << " from device " << first);
      auto one = engine(graph, run, first);
      one->advance(run.schedule, 20);
      auto two = engine(graph, run, first == 0 ? -1 : 0);
      two->restore(one->save());
      two->advance(run.schedule, 30);
      CHECK(two->save().bytes == whole->save().bytes);
      CHECK(two->save().step == whole->save().step);
    }
  }
}

TEST_CASE("one call or several on CUDA: the same moves and sums", "[gpu]") {
  const Graph graph = build_graph({{36, 20}, 0.1, Rule::rewire, 3});
  for (const Run& run : kRuns) {
    INFO(describe(run));
    auto cpu = engine(graph, run, -1);
    auto gpu = engine(graph, run, 0);
    for (int piece = 0; piece < 3; ++piece) {
      cpu->advance(run.schedule, 15);
      for (int n = 0; n < 15; ++n) gpu->advance(run.schedule, 1);
      same(*cpu, *gpu);
    }
    std::vector<std::uint8_t> a(graph.sites()), b(graph.sites());
    cpu->spins(run.temperatures - 1, 1, a);
    gpu->spins(run.temperatures - 1, 1, b);
    CHECK(a == b);
  }
}

TEST_CASE("Swendsen-Wang on CUDA: a short run for the sanitizers", "[gpu]") {
  const Run run{LocalUpdate::metropolis, ClusterUpdate::swendsen_wang, {0, 1}, 1, 2};
  for (const LatticeCase& c :
       {LatticeCase{{128, 96}, 0.3, Rule::rewire}, LatticeCase{{130, 10, 6}, 0.1, Rule::add},
        LatticeCase{{2100}, 0.02, Rule::rewire}, LatticeCase{{34, 4, 4, 4}, 0.0, Rule::rewire},
        LatticeCase{{64, 10, 6}, 0.1, Rule::add}}) {
    const Graph graph = build_graph({c.extents, c.p, c.rule, 7});
    INFO("dim " << c.extents.size() << " p " << c.p);
    auto cpu = engine(graph, run, -1);
    auto gpu = engine(graph, run, 0);
    cpu->advance(run.schedule, 2);
    gpu->advance(run.schedule, 2);
    same(*cpu, *gpu);
  }
}

TEST_CASE("a missing CUDA device is an error", "[gpu]") {
  const Graph graph = build_graph({{8, 8}, 0.1, Rule::rewire, 3});
  EngineSpec spec;
  spec.betas = {0.4};
  EngineOptions options;
  options.device = 999;
  CHECK_THROWS_AS(make_bytespin_engine(graph, spec, options), Error);
}

// CUDA stops between steps, the CPU anywhere within them. Each continues where the other stopped.
TEST_CASE("bytespin: stopped within cycles on CUDA or the CPU and continued on either", "[gpu]") {
  const Graph graph = build_graph({{72, 90}, 0.1, Rule::rewire, 5});
  std::vector<EngineOptions> options(3);
  options[0].threads = 2;
  options[1].threads = 1;
  options[2].device = 0;
  for (const ModelKind model : {ModelKind::ising, ModelKind::potts}) {
    for (const auto cluster :
         {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang, ClusterUpdate::few_cluster}) {
      EngineSpec spec;
      spec.model.kind = model;
      spec.model.q = model == ModelKind::potts ? 3 : 2;
      spec.betas = {1 / 0.9, 1 / 2.3};
      spec.replicas = 2;
      spec.cluster = cluster;
      CHECK(check_stops(make_bytespin_engine, graph, spec, {2, 3}, options, 11) >= 5);
      CHECK(check_stops(make_bytespin_engine, graph, spec, {3, 2}, {options[2]}, 12) >= 3);
    }
  }
}

TEST_CASE("given spins: same moves on CUDA and CPU", "[gpu]") {
  const Graph graph = build_graph({{36, 22}, 0.1, Rule::rewire, 3});
  EngineSpec spec;
  spec.betas = {1 / 2.0, 1 / 3.0};
  spec.replicas = 3;
  EngineOptions gpu;
  gpu.device = 0;
  for (const auto kind : {CouplingKind::ferromagnet, CouplingKind::antiferromagnet}) {
    spec.model.interactions.couplings = kind;
    check_given_spins(make_bytespin_engine, graph, spec, {1, 1}, {EngineOptions{}, gpu});
  }
}

}  // namespace cuda_identity_test

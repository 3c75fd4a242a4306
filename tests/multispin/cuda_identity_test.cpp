// The multispin engine makes the same moves on CUDA as on the CPU, bit for bit.
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/multispin/multispin.hpp"
#include "tests/engines/identity_check.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_moves.hpp"

namespace cuda_identity_test {
namespace {

using namespace rewise;
using namespace rewise::oracle;

std::vector<LatticeCase> lattices() {
  const std::vector<std::vector<std::uint32_t>> shapes{
      {24},         {70},        {1000},       {4, 4},       {4, 6},       {10, 12},
      {32, 32},     {34, 6},     {36, 70},     {64, 64},     {130, 22},    {6, 4, 8},
      {16, 16, 16}, {34, 10, 6}, {4, 4, 4, 6}, {8, 8, 8, 8}, {32, 4, 6, 4}};
  return lattice_cases(shapes);
}

std::unique_ptr<Engine> engine(const Graph& graph, LocalUpdate local, std::uint32_t temperatures,
                               std::uint32_t replicas, int device) {
  EngineSpec spec;
  spec.local = local;
  for (std::uint32_t t = 0; t < temperatures; ++t) spec.betas.push_back(1 / (1.9 + 0.4 * t));
  spec.replicas = replicas;
  spec.seed = 20260101;
  EngineOptions options;
  options.threads = 4;
  options.device = device;
  return make_multispin_engine(graph, spec, options);
}

}  // namespace

TEST_CASE("same moves on CUDA and CPU over lattices, rules and updates", "[gpu]") {
  std::size_t cases = 0;
  for (const LatticeCase& c : lattices()) {
    const Graph graph = build_graph({c.extents, c.p, c.rule, 7});
    for (const auto& [local, schedule, temperatures, replicas] :
         {std::tuple{LocalUpdate::metropolis, Schedule{1, 0}, 1u, 32u},
          std::tuple{LocalUpdate::glauber, Schedule{1, 0}, 2u, 64u},
          std::tuple{LocalUpdate::metropolis, Schedule{0, 4}, 1u, 32u},
          std::tuple{LocalUpdate::metropolis, Schedule{3, 1}, 3u, 32u},
          std::tuple{LocalUpdate::glauber, Schedule{2, 3}, 1u, 128u}}) {
      const std::uint64_t cycles = 200 / schedule.steps_per_cycle();
      auto cpu = engine(graph, local, temperatures, replicas, -1);
      auto gpu = engine(graph, local, temperatures, replicas, 0);
      cpu->advance(schedule, cycles);
      gpu->advance(schedule, cycles);
      INFO("dim " << c.extents.size() << " x " << c.extents[0] << " p " << c.p << " rule "
                  << std::string(to_string(c.rule)) << " schedule " << to_string(schedule));
      check_same(*cpu, *gpu);
      ++cases;
    }
  }
  CHECK(cases >= 60);
}

// Bit planes that fit into the shared memory of a multiprocessor and that do not, and clusters that
// many warps grow together.
TEST_CASE("same moves on CUDA and CPU on large lattices", "[gpu]") {
  const std::vector<LatticeCase> cases{{{512, 256}, 0.01, Rule::rewire},
                                       {{1024, 1024}, 0.01, Rule::rewire},
                                       {{1024, 1024}, 0.0, Rule::rewire},
                                       {{128, 128, 128}, 0.02, Rule::add}};
  for (const LatticeCase& c : cases) {
    const Graph graph = build_graph({c.extents, c.p, c.rule, 11});
    for (const Start start : {Start::cold, Start::mixed}) {
      EngineSpec spec;
      spec.betas = {1 / (c.extents.size() == 2 ? 2.3 : 4.4)};
      spec.replicas = 32;
      spec.start = start;
      EngineOptions cpu_options, gpu_options;
      gpu_options.device = 0;
      auto cpu = make_multispin_engine(graph, spec, cpu_options);
      auto gpu = make_multispin_engine(graph, spec, gpu_options);
      INFO("edge " << c.extents[0] << " dim " << c.extents.size() << " p " << c.p);
      for (const Schedule schedule : {Schedule{2, 5}, Schedule{0, 32}}) {
        cpu->advance(schedule, 2);
        gpu->advance(schedule, 2);
        check_same(*cpu, *gpu);
      }
    }
  }
}

TEST_CASE("same moves on CUDA and CPU on an imported graph with three colours and a hub", "[gpu]") {
  for (const Graph& graph : {irregular_graph(200), irregular_graph(20000, 300)}) {
    graph.validate();
    for (const LocalUpdate local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      auto cpu = engine(graph, local, 2, 64, -1);
      auto gpu = engine(graph, local, 2, 64, 0);
      cpu->advance({1, 2}, 70);
      gpu->advance({1, 2}, 70);
      check_same(*cpu, *gpu);
    }
  }
}

TEST_CASE("a checkpoint moves between CPU and CUDA", "[gpu]") {
  const Graph graph = build_graph({{34, 20}, 0.1, Rule::rewire, 3});
  const Schedule schedule{1, 3};
  auto whole = engine(graph, LocalUpdate::metropolis, 2, 32, -1);
  whole->advance(schedule, 50);
  for (const int first : {-1, 0}) {
    auto one = engine(graph, LocalUpdate::metropolis, 2, 32, first);
    one->advance(schedule, 20);
    auto two = engine(graph, LocalUpdate::metropolis, 2, 32, first == 0 ? -1 : 0);
    two->restore(one->save());
    two->advance(schedule, 30);
    CHECK(two->trajectory_hash() == whole->trajectory_hash());
  }
}

// CUDA stops between steps, the CPU anywhere within them. Each continues where the other stopped.
TEST_CASE("stopped within cycles on CUDA or the CPU and continued on either", "[gpu]") {
  const Graph graph = build_graph({{72, 90}, 0.1, Rule::rewire, 5});
  EngineSpec spec;
  spec.betas = {1 / 2.1, 1 / 2.6};
  spec.replicas = 32;
  std::vector<EngineOptions> options(3);
  options[0].threads = 2;
  options[1].threads = 1;
  options[2].device = 0;
  for (const auto cluster : {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang}) {
    spec.cluster = cluster;
    CHECK(check_stops(make_multispin_engine, graph, spec, {2, 3}, options, 11) >= 5);
    CHECK(check_stops(make_multispin_engine, graph, spec, {3, 2}, {options[2]}, 12) >= 3);
  }
}

// Members that were stopped at different points of a cycle all reach its end.
TEST_CASE("a batch continues from members at different points of a cycle", "[gpu]") {
  const Graph graph = build_graph({{34, 20}, 0.1, Rule::rewire, 3});
  EngineSpec spec;
  spec.betas = {1 / 2.1, 1 / 2.6};
  spec.replicas = 32;
  EngineOptions cpu, gpu;
  gpu.device = 0;
  cpu.stop_grain = 64;
  const std::vector<BatchTask> tasks(3, {graph, spec});
  const auto batch = make_multispin_batch(tasks, gpu);
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    std::atomic<std::size_t> asked{0};
    cpu.stop = [&] { return ++asked > 40 * k; };
    const auto engine = make_multispin_engine(graph, spec, cpu);
    CHECK_FALSE(engine->advance({2, 3}, 4));
    batch->engine(k).restore(engine->save());
  }
  const std::vector<std::size_t> chosen{0, 1, 2};
  const std::vector<bool> all(3, true);
  CHECK((batch->advance(chosen, {2, 3}, 4) == all));
  const auto whole = make_multispin_engine(graph, spec, {});
  whole->advance({2, 3}, 4);
  for (const std::size_t k : chosen) {
    CHECK(batch->engine(k).trajectory_hash() == whole->trajectory_hash());
  }
}

TEST_CASE("given spins: same moves on CUDA and CPU", "[gpu]") {
  const Graph graph = build_graph({{36, 22}, 0.1, Rule::rewire, 3});
  EngineSpec spec;
  spec.betas = {1 / 2.0, 1 / 3.0};
  spec.replicas = 64;
  EngineOptions gpu;
  gpu.device = 0;
  for (const auto kind : {CouplingKind::ferromagnet, CouplingKind::antiferromagnet}) {
    spec.model.interactions.couplings = kind;
    check_given_spins(make_multispin_engine, graph, spec, {1, 1}, {EngineOptions{}, gpu});
  }
}

}  // namespace cuda_identity_test

// Sweeps in the shared memory of blocks, sweeps with one launch per colour, and sweeps on the CPU
// make the same moves. On CUDA, the size of the system and of the batch determines the kind.
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "graphs/graph.hpp"
#include "src/multispin/multispin.hpp"
#include "tests/support/catch.hpp"

namespace cuda_resident_test {
namespace {

using namespace rewise;

struct Fleet {
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<BatchTask> tasks;
  std::vector<std::size_t> all;

  Fleet(const std::vector<std::uint32_t>& extents, std::size_t count, LocalUpdate local,
        std::uint32_t replicas)
      : all(count) {
    std::iota(all.begin(), all.end(), std::size_t{0});
    const double fractions[] = {0.02, 0.3, 1.0};
    const Rule rules[] = {Rule::rewire, Rule::add, Rule::swap};
    for (const std::size_t k : all) {
      graphs.push_back(std::make_unique<Graph>(
          build_graph({extents, fractions[k % 3], rules[k / 3 % 3], 500 + k})));
      EngineSpec spec;
      spec.local = local;
      spec.betas = {0.45 - 0.002 * static_cast<double>(k % 50)};
      spec.replicas = replicas;
      spec.seed = 9'000'000'000ull + k;
      tasks.push_back({*graphs.back(), spec});
    }
  }

  static EngineOptions on(int device) {
    EngineOptions options;
    options.threads = 2;
    options.device = device;
    return options;
  }
  std::unique_ptr<EngineBatch> together() const { return make_multispin_batch(tasks, on(0)); }
  std::unique_ptr<Engine> alone(std::size_t k, int device) const {
    return make_multispin_engine(tasks[k].graph, tasks[k].spec, on(device));
  }
};

void same(Engine& a, Engine& b) {
  CHECK(a.trajectory_hash() == b.trajectory_hash());
  Observation x, y;
  a.measure(x);
  b.measure(y);
  CHECK(x.bond_sum == y.bond_sum);
  CHECK(x.magnetisation == y.magnetisation);
}

// Three colours, sites of every degree from 0 to `most`, and one site of degree 60.
Graph degrees_up_to(std::uint32_t most) {
  const std::uint32_t left = most + 2, right = 80, sites = left + right;
  std::vector<std::uint8_t> colour(sites, 0);
  std::vector<RewiredBond> bonds;
  for (std::uint32_t s = left; s < sites; ++s) colour[s] = static_cast<std::uint8_t>(1 + s % 2);
  for (std::uint32_t s = 0; s < left; ++s) {
    const std::uint32_t degree = s == most + 1 ? 60 : s;
    for (std::uint32_t j = 0; j < degree; ++j) {
      bonds.push_back({bonds.size(), s, left + (7 * s + j) % right});
    }
  }
  return Graph(sites, bonds, colour, 3, "degrees");
}

}  // namespace

TEST_CASE("sweeps within blocks make the moves of the CPU in batches of any size", "[gpu]") {
  const std::vector<std::vector<std::uint32_t>> shapes{{70},     {10, 12},  {4, 26},
                                                       {34, 18}, {6, 8, 4}, {4, 6, 4, 4}};
  for (const auto& shape : shapes) {
    for (const LocalUpdate local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      for (const auto& [count, replicas] :
           {std::pair{1u, 32u}, std::pair{1u, 128u}, std::pair{9u, 96u}, std::pair{9u, 192u},
            std::pair{45u, 512u}}) {
        INFO("dim " << shape.size() << " x " << shape[0] << " graphs " << count);
        const Fleet fleet(shape, count, local, replicas);
        auto batch = fleet.together();
        batch->advance(fleet.all, {1, 0}, 13);
        batch->advance(fleet.all, {3, 0}, 5);
        for (std::size_t k = 0; k < count; k += 4) {
          auto cpu = fleet.alone(k, -1);
          cpu->advance({1, 0}, 28);
          same(*cpu, batch->engine(k));
        }
      }
    }
  }
}

TEST_CASE("sweeps within blocks make the moves of the CPU at every degree", "[gpu]") {
  const Graph graph = degrees_up_to(20);
  graph.validate();
  for (const LocalUpdate local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
    for (const std::uint32_t replicas : {32u, 64u, 96u, 128u, 32768u}) {
      EngineSpec spec;
      spec.local = local;
      spec.betas = {0.3};
      spec.replicas = replicas;
      auto cpu = make_multispin_engine(graph, spec, Fleet::on(-1));
      auto gpu = make_multispin_engine(graph, spec, Fleet::on(0));
      for (Engine* e : {cpu.get(), gpu.get()}) e->advance({2, 0}, 9);
      INFO("replicas " << replicas);
      same(*cpu, *gpu);
    }
  }
}

TEST_CASE("one launch per colour makes the moves of the CPU on larger systems", "[gpu]") {
  const std::vector<std::vector<std::uint32_t>> shapes{
      {9000}, {130, 74}, {16, 18, 34}, {8, 10, 8, 16}};
  for (const auto& shape : shapes) {
    for (const LocalUpdate local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
      for (const std::uint32_t replicas : {32u, 64u, 96u, 128u}) {
        INFO("dim " << shape.size() << " replicas " << replicas);
        const Fleet fleet(shape, 3, local, replicas);
        auto batch = fleet.together();
        batch->advance(fleet.all, {1, 0}, 11);
        for (std::size_t k = 0; k < 3; ++k) {
          auto cpu = fleet.alone(k, -1);
          cpu->advance({1, 0}, 11);
          same(*cpu, batch->engine(k));
        }
      }
    }
  }
}

// A large batch sweeps within blocks, each with a few of the interleaved word groups. One of its
// graphs alone uses one launch per colour and interleaves fewer word groups.
TEST_CASE("a checkpoint moves from sweeps within blocks to launches and back", "[gpu]") {
  for (const std::uint32_t replicas : {128u, 192u, 256u}) {
    INFO("replicas " << replicas);
    const Fleet fleet({100, 48}, 132, LocalUpdate::metropolis, replicas);
    const std::vector<std::size_t> some{0, 4, 131};
    auto batch = fleet.together();
    batch->advance(fleet.all, {1, 0}, 9);
    std::vector<std::unique_ptr<Engine>> cpus;
    for (const std::size_t k : some) {
      auto gpu = fleet.alone(k, 0);
      cpus.push_back(fleet.alone(k, -1));
      const EngineState state = batch->engine(k).save();
      for (Engine* e : {cpus.back().get(), gpu.get()}) {
        e->restore(state);
        e->advance({1, 0}, 8);
      }
      same(*cpus.back(), *gpu);
      batch->engine(k).restore(gpu->save());
    }
    std::vector<std::size_t> others;
    for (const std::size_t k : fleet.all) {
      if (k != 0 && k != 4 && k != 131) others.push_back(k);
    }
    batch->advance(others, {1, 0}, 8);
    batch->advance(fleet.all, {1, 0}, 7);
    for (std::size_t n = 0; n < some.size(); ++n) {
      cpus[n]->advance({1, 0}, 7);
      same(*cpus[n], batch->engine(some[n]));
    }
  }
}

}  // namespace cuda_resident_test

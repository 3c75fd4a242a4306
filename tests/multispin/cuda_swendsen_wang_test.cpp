// Swendsen-Wang updates of the multispin engine on CUDA give the moves and sums of the CPU.
#include <memory>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/devices.hpp"
#include "src/cuda/use_device.hpp"
#include "src/multispin/multispin.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_moves.hpp"

namespace cuda_swendsen_wang_test {
namespace {

using namespace rewise;
using namespace rewise::oracle;

EngineSpec spec_of(const std::vector<double>& temperatures, std::uint32_t replicas) {
  EngineSpec spec;
  for (const double t : temperatures) spec.betas.push_back(1 / t);
  spec.replicas = replicas;
  spec.seed = 20260103 | std::uint64_t{5} << 32;
  spec.cluster = ClusterUpdate::swendsen_wang;
  return spec;
}

EngineOptions on(int device) {
  EngineOptions options;
  options.threads = 4;
  options.device = device;
  return options;
}

// Returns the number of comparisons.
std::size_t compare(const Graph& graph, const EngineSpec& spec, const Schedule& schedule,
                    std::uint64_t cycles) {
  const auto cpu = make_multispin_engine(graph, spec, on(-1));
  const auto cuda = make_multispin_engine(graph, spec, on(0));
  for (std::uint64_t part : {cycles / 2, cycles - cycles / 2}) {
    cpu->advance(schedule, part);
    cuda->advance(schedule, part);
  }
  CHECK(cpu->save().bytes == cuda->save().bytes);
  check_same(*cpu, *cuda);
  return 1;
}

}  // namespace

TEST_CASE("Swendsen-Wang of word groups on CUDA equals the CPU on lattices", "[gpu]") {
  const std::vector<std::vector<std::uint32_t>> shapes{
      {70},       {2048},    {5000},      {4, 6},      {36, 34},      {36, 70},     {64, 128},
      {130, 222}, {6, 4, 8}, {34, 10, 6}, {64, 8, 24}, {36, 4, 6, 4}, {8, 8, 8, 12}};
  std::size_t comparisons = 0;
  for (const auto& shape : shapes) {
    for (const auto& [p, rule] :
         {std::pair{0.0, Rule::rewire}, std::pair{0.05, Rule::rewire}, std::pair{0.5, Rule::swap},
          std::pair{0.3, Rule::add}, std::pair{1.0, Rule::rewire}}) {
      const Graph graph = build_graph({shape, p, rule, 7});
      INFO("dim " << shape.size() << " x " << shape[0] << " p " << p << " rule "
                  << std::string(to_string(rule)));
      const double scale = shape.size() > 2 ? 1.5 : 1;
      comparisons += compare(graph, spec_of({1.5 * scale, 3.0 * scale}, 32), {1, 2}, 5);
      comparisons += compare(graph, spec_of({2.2 * scale}, 128), {0, 3}, 4);
      comparisons += compare(graph, spec_of({2.4 * scale}, 96), {1, 1}, 2);
    }
  }
  CHECK(comparisons >= 120);
}

TEST_CASE("Swendsen-Wang of word groups on CUDA: sums with weights equal the CPU", "[gpu]") {
  const auto bare = [](const std::vector<std::uint32_t>& shape, double p) {
    GraphSpec spec{shape, p, Rule::rewire, 8};
    spec.bare = true;
    return build_graph(spec);
  };
  for (const auto& shape : std::vector<std::vector<std::uint32_t>>{
           {70}, {5000}, {4, 6}, {36, 70}, {130, 222}, {6, 4, 8}, {34, 10, 66}, {36, 4, 6, 4}}) {
    for (const double p : {0.0, 0.001, 0.1, 1.0}) {
      INFO("dim " << shape.size() << " x " << shape[0] << " p " << p);
      const double scale = shape.size() > 2 ? 1.5 : 1;
      compare(bare(shape, p), spec_of({0.7 * scale, 1.8 * scale, 3.0 * scale}, 32), {0, 2}, 5);
    }
  }
  compare(bare({512, 320}, 0.1), spec_of({1.2, 2.5}, 96), {0, 1}, 6);
  compare(bare({64, 48, 40}, 0.05), spec_of({4.2}, 64), {1, 1}, 4);
}

TEST_CASE("a batch of bare lattices on CUDA has the same sums with weights as each alone",
          "[gpu]") {
  std::vector<Graph> graphs;
  std::vector<BatchTask> tasks;
  for (const std::uint64_t seed : {1, 2, 3}) {
    GraphSpec spec{{40, 72}, 0.2, Rule::rewire, seed};
    spec.bare = seed != 2;
    graphs.push_back(build_graph(spec));
  }
  for (const Graph& graph : graphs) tasks.push_back({graph, spec_of({1.8, 2.6}, 32)});
  auto batch = make_multispin_batch(tasks, on(0));
  const std::vector<std::size_t> all{0, 1, 2}, last{1, 2};
  batch->advance(all, {0, 2}, 3);
  const auto seen = batch->sample(last, {0, 2}, 1, 20);
  for (std::size_t k = 1; k < tasks.size(); ++k) {
    auto alone = make_multispin_engine(graphs[k], tasks[k].spec, on(-1));
    alone->advance({0, 2}, 3);
    for (std::size_t n = 0; n < 20; ++n) {
      Observation observation;
      alone->advance({0, 2}, 1);
      alone->measure(observation);
      check_same(observation, seen[k - 1][n]);
    }
  }
}

TEST_CASE("sums over pairs of clusters on CUDA equal the CPU", "[gpu]") {
  std::size_t comparisons = 0;
  const auto check = [&](const std::vector<std::uint32_t>& shape, double p, Rule rule,
                         EngineSpec spec, const Schedule& schedule, std::uint64_t cycles) {
    INFO("dim " << shape.size() << " x " << shape[0] << " p " << p);
    GraphSpec of{shape, p, rule, 8};
    of.bare = true;
    spec.cluster_pairs = true;
    comparisons += compare(build_graph(of), spec, schedule, cycles);
  };
  for (const auto& shape : std::vector<std::vector<std::uint32_t>>{
           {70}, {5000}, {4, 6}, {36, 70}, {130, 222}, {6, 4, 8}, {34, 10, 66}, {36, 4, 6, 4}}) {
    const double scale = shape.size() > 2 ? 1.5 : 1;
    const std::vector<double> temperatures{0.7 * scale, 1.8 * scale, 2.3 * scale, 3.0 * scale};
    for (const double p : {0.0, 0.1, 1.0}) {
      check(shape, p, Rule::rewire, spec_of(temperatures, 32), {0, 2}, 5);
    }
    check(shape, 0.3, Rule::add, spec_of({1.6 * scale, 2.2 * scale}, 64), {2, 1}, 5);
  }
  check({512, 320}, 0.1, Rule::rewire, spec_of({1.2, 2.1}, 96), {0, 1}, 6);
  check({64, 48, 40}, 0.05, Rule::rewire, spec_of({4.2}, 64), {1, 1}, 4);
  CHECK(comparisons == 34);
}

TEST_CASE("sums over pairs of clusters on CUDA from first_pair_step on, also of long series",
          "[gpu]") {
  std::vector<Graph> graphs;
  std::vector<BatchTask> tasks;
  for (const std::uint64_t seed : {1, 2, 3}) {
    GraphSpec spec{{40, 72}, 0.2, seed == 2 ? Rule::add : Rule::rewire, seed};
    spec.bare = true;
    graphs.push_back(build_graph(spec));
  }
  for (const Graph& graph : graphs) {
    EngineSpec spec = spec_of({1.8, 2.3}, 64);
    spec.cluster_pairs = true;
    spec.first_pair_step = 12;
    tasks.push_back({graph, spec});
  }
  auto batch = make_multispin_batch(tasks, on(0));
  const std::vector<std::size_t> all{0, 1, 2}, last{1, 2};
  batch->advance(all, {2, 1}, 2);
  const auto seen = batch->sample(last, {2, 1}, 1, 200);
  for (std::size_t k = 1; k < tasks.size(); ++k) {
    auto alone = make_multispin_engine(graphs[k], tasks[k].spec, on(-1));
    alone->advance({2, 1}, 2);
    for (std::size_t n = 0; n < 200; ++n) {
      Observation observation;
      alone->advance({2, 1}, 1);
      alone->measure(observation);
      REQUIRE(observation.pair_size.size() == 64);
      CHECK(observation.pair_cross.size() == (k == 1 ? 0 : 64));
      CHECK((observation.pair_size.front() == 0) == (n < 2));
      check_same(observation, seen[k - 1][n]);
    }
  }
}

// A series is continued from a checkpoint by the other device.
TEST_CASE("sums over pairs of clusters continue on CUDA and on the CPU", "[gpu]") {
  GraphSpec of{{40, 72}, 0.2, Rule::rewire, 6};
  of.bare = true;
  const Graph graph = build_graph(of);
  EngineSpec spec = spec_of({1.8, 2.3}, 64);
  spec.cluster_pairs = true;
  const auto whole = make_multispin_engine(graph, spec, on(-1));
  whole->advance({1, 1}, 9);
  auto engine = make_multispin_engine(graph, spec, on(-1));
  for (const int device : {0, -1, 0}) {
    const auto next = make_multispin_engine(graph, spec, on(device));
    next->restore(engine->save());
    next->advance({1, 1}, 3);
    engine->restore(next->save());
  }
  CHECK(engine->save().bytes == whole->save().bytes);
  check_same(*engine, *whole);
}

TEST_CASE("Swendsen-Wang of word groups on CUDA equals the CPU on larger lattices", "[gpu]") {
  compare(build_graph({{512, 320}, 0.01, Rule::rewire, 3}), spec_of({2.1, 2.43}, 96), {0, 1}, 6);
  compare(build_graph({{64, 48, 40}, 0.1, Rule::rewire, 4}), spec_of({4.6}, 64), {1, 1}, 4);
  compare(build_graph({{100000}, 0.2, Rule::rewire, 5}), spec_of({1.2}, 64), {0, 2}, 3);
}

// Eight word groups would need about 320 MiB; 256 MiB are free.
TEST_CASE("Swendsen-Wang of word groups on CUDA: fewer at a time if memory is short", "[gpu]") {
  use_device(0);
  const DeviceBuffer<std::uint8_t> others(free_memory(0) - (std::size_t{256} << 20));
  GraphSpec spec{{64, 48, 40}, 0.1, Rule::rewire, 4};
  spec.bare = true;
  EngineSpec engine = spec_of({4, 4.1, 4.2, 4.3, 4.4, 4.5, 4.6, 4.7}, 32);
  compare(build_graph(spec), engine, {1, 1}, 2);
  engine.cluster_pairs = true;  // tables of all pairs would need another 300 MiB
  compare(build_graph(spec), engine, {1, 1}, 2);
}

TEST_CASE("Swendsen-Wang of word groups on CUDA equals the CPU on an imported graph", "[gpu]") {
  const Graph graph = irregular_graph(2300);
  graph.validate();
  EngineSpec spec = spec_of({1.5, 2.4}, 64);
  compare(graph, spec, {1, 3}, 8);
  spec.cluster_pairs = true;
  compare(graph, spec, {1, 3}, 8);
}

TEST_CASE("Swendsen-Wang of word groups on CUDA, few cases", "[gpu]") {
  for (const auto& shape : std::vector<std::vector<std::uint32_t>>{{2300}, {36, 70}, {6, 10, 6}}) {
    compare(build_graph({shape, 0.3, Rule::rewire, 7}), spec_of({2.0}, 32), {0, 1}, 2);
  }
}

TEST_CASE("Swendsen-Wang updates of a batch on CUDA", "[gpu]") {
  std::vector<Graph> graphs;
  std::vector<BatchTask> tasks;
  for (const std::uint64_t seed : {1, 2, 3}) {
    graphs.push_back(build_graph({{40, 72}, 0.2, Rule::rewire, seed}));
  }
  for (const Graph& graph : graphs) {
    EngineSpec spec = spec_of({1.8, 2.6}, 32);
    spec.seed += tasks.size();
    tasks.push_back({graph, spec});
  }
  auto batch = make_multispin_batch(tasks, on(0));
  const std::vector<std::size_t> all{0, 1, 2}, last{1, 2};
  batch->advance(all, {1, 2}, 3);
  const auto seen = batch->sample(last, {1, 2}, 1, 20);
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    auto alone = make_multispin_engine(graphs[k], tasks[k].spec, on(-1));
    alone->advance({1, 2}, 3);
    for (std::size_t n = 0; k > 0 && n < 20; ++n) {
      Observation observation;
      alone->advance({1, 2}, 1);
      alone->measure(observation);
      CHECK(observation.bond_sum == seen[k - 1][n].bond_sum);
      CHECK(observation.cluster_size == seen[k - 1][n].cluster_size);
      CHECK(observation.cluster_quartic_low == seen[k - 1][n].cluster_quartic_low);
    }
    INFO("graph " << k);
    CHECK(batch->engine(k).trajectory_hash() == alone->trajectory_hash());
  }
}

}  // namespace cuda_swendsen_wang_test

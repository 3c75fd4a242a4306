// Every Wolff method on CUDA flips the same clusters as the CPU, bit for bit, and counts their
// sizes exactly.
#include <array>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/methods.hpp"
#include "src/engine/registry.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/edge_list.hpp"

using namespace rewise;

namespace cuda_wolff_test {
namespace {

using enum WolffMethod;
constexpr std::array kMethods{automatic, frontier, frontier_local, persistent, ccl};

EngineSpec spec_of(std::vector<double> temperatures, std::uint32_t replicas) {
  EngineSpec spec;
  for (const double t : temperatures) spec.betas.push_back(1 / t);
  spec.replicas = replicas;
  spec.seed = 20261121;
  return spec;
}

std::unique_ptr<Engine> engine(const Graph& graph, const EngineSpec& spec, int device,
                               WolffMethod method = automatic) {
  EngineOptions options;
  options.device = device;
  options.methods = {.wolff = method};
  return make_bytespin_engine(graph, spec, options);
}

// Compares spins and cluster sums with the CPU, twice within `cycles` cycles.
void check_all_methods(const Graph& graph, const EngineSpec& spec, const Schedule& schedule,
                       std::uint64_t cycles) {
  const auto cpu = engine(graph, spec, -1);
  std::vector<std::uint64_t> hashes;
  std::vector<Observation> seen(2);
  for (Observation& observation : seen) {
    cpu->advance(schedule, cycles / 2);
    cpu->measure(observation);
    hashes.push_back(cpu->trajectory_hash());
  }
  for (const WolffMethod method : kMethods) {
    INFO(graph.sites() << " sites, " << graph.bonds() << " bonds, method '" << to_string(method)
                       << "', " << to_string(schedule));
    const auto gpu = engine(graph, spec, 0, method);
    for (std::size_t k = 0; k < seen.size(); ++k) {
      gpu->advance(schedule, cycles / 2);
      Observation observation;
      gpu->measure(observation);
      CHECK(gpu->trajectory_hash() == hashes[k]);
      CHECK(observation.cluster_size == seen[k].cluster_size);
      CHECK(observation.cluster_updates == seen[k].cluster_updates);
      CHECK(observation.bond_sum == seen[k].bond_sum);
      CHECK(observation.magnetisation == seen[k].magnetisation);
    }
    CHECK(gpu->work().cluster_sites == cpu->work().cluster_sites);
  }
}

}  // namespace

TEST_CASE("bytespin engine, Wolff on CUDA: every method equals the CPU over lattices and rules",
          "[gpu]") {
  const std::vector<std::vector<std::uint32_t>> shapes{
      {24},      {1000},     {4, 4},       {10, 12},     {34, 6},      {130, 22},
      {6, 4, 8}, {16, 8, 6}, {34, 10, 12}, {4, 4, 4, 6}, {10, 8, 6, 4}};
  std::size_t cases = 0;
  for (const auto& shape : shapes) {
    for (const double p : {0.0, 0.05, 0.5, 1.0}) {
      for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
        if (p == 0 && rule != Rule::rewire) continue;
        if (shape.size() == 1 && shape[0] < 70 && rule != Rule::rewire) continue;
        const Graph graph = build_graph({shape, p, rule, 7});
        // 200 steps; every second case has Metropolis sweeps in between.
        const bool mixed = cases++ % 2 == 1;
        check_all_methods(graph, spec_of({1.5, 2.2, 3.0}, 2),
                          mixed ? Schedule{2, 3} : Schedule{0, 4}, mixed ? 40 : 50);
      }
    }
  }
  CHECK(cases >= 60);
}

TEST_CASE("bytespin engine, Wolff on CUDA: imported graphs with hubs and odd cycles", "[gpu]") {
  for (const Graph& graph : {oracle::imported_graph(oracle::hubs(25, 6, 4), "hubs"),
                             oracle::imported_graph(oracle::complete(20), "complete"),
                             oracle::imported_graph(oracle::hubs(3000, 2, 2), "large hubs")}) {
    check_all_methods(graph, spec_of({1.5, 3.0, 20.0}, 3), {0, 4}, 50);
  }
}

TEST_CASE("bytespin engine, Wolff on CUDA: clusters larger than a block", "[gpu]") {
  // Frontiers too wide for one block, and more sites than fit into shared memory.
  const Graph wide = build_graph({{512, 384}, 0.05, Rule::rewire, 3});
  check_all_methods(wide, spec_of({2.0, 2.5}, 1), {0, 5}, 4);
  const Graph solid = build_graph({{64, 64, 48}, 0, Rule::rewire, 3});
  check_all_methods(solid, spec_of({4.0, 4.5}, 1), {0, 5}, 4);
  const Graph large = build_graph({{1500, 1300}, 0.01, Rule::rewire, 3});
  check_all_methods(large, spec_of({2.35}, 1), {0, 3}, 2);
}

TEST_CASE("bytespin engine, Wolff on CUDA: more replicas than run at the same time", "[gpu]") {
  const Graph graph = build_graph({{66, 34}, 0.1, Rule::rewire, 3});
  check_all_methods(graph, spec_of({1.8, 2.4, 3.0}, 300), {1, 3}, 4);
}

TEST_CASE("bytespin engine, Wolff on CUDA: short runs of every method for the sanitizers",
          "[gpu]") {
  const Graph hubs = oracle::imported_graph(oracle::hubs(25, 6, 4), "hubs");
  check_all_methods(hubs, spec_of({2.0}, 2), {0, 2}, 2);
  const Graph lattice = build_graph({{6, 4, 8}, 0.3, Rule::add, 2});
  check_all_methods(lattice, spec_of({3.0}, 2), {0, 2}, 2);
  const Graph wide = build_graph({{256, 192}, 0.5, Rule::rewire, 2});  // several blocks per level
  check_all_methods(wide, spec_of({2.0}, 1), {0, 1}, 2);
}

}  // namespace cuda_wolff_test

// Few-cluster updates on CUDA flip the same clusters as the CPU, bit for bit, and count them
// exactly; Ising and Potts.
#include <vector>

#include "graphs/graph.hpp"
#include "src/bytespin/bytespin.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/edge_list.hpp"

using namespace rewise;

namespace cuda_few_cluster_test {
namespace {

// q = 0: Ising
EngineSpec spec_of(std::uint32_t q, std::uint32_t tile, std::vector<double> betas) {
  EngineSpec spec;
  spec.model = {q == 0 ? ModelKind::ising : ModelKind::potts, q == 0 ? 2 : q};
  spec.cluster = ClusterUpdate::few_cluster;
  spec.few_cluster.tile = tile;
  spec.betas = std::move(betas);
  spec.replicas = 2;
  spec.seed = 20261123;
  return spec;
}

std::unique_ptr<Engine> engine(const Graph& graph, const EngineSpec& spec, int device) {
  EngineOptions options;
  options.threads = 4;
  options.device = device;
  return make_bytespin_engine(graph, spec, options);
}

void check(const Graph& graph, const EngineSpec& spec, const Schedule& schedule,
           std::uint64_t cycles) {
  INFO(graph.sites() << " sites, " << graph.bonds() << " bonds, q " << spec.model.q << ", tile "
                     << spec.few_cluster.tile << ", " << to_string(schedule));
  const auto cpu = engine(graph, spec, -1), gpu = engine(graph, spec, 0);
  for (int half = 0; half < 2; ++half) {
    cpu->advance(schedule, cycles);
    gpu->advance(schedule, cycles);
    CHECK(gpu->trajectory_hash() == cpu->trajectory_hash());
    Observation x, y;
    cpu->measure(x);
    gpu->measure(y);
    CHECK(y.cluster_size == x.cluster_size);
    CHECK(y.cluster_updates == x.cluster_updates);
    CHECK(y.cluster_quartic_low.empty());
    CHECK(y.bond_sum == x.bond_sum);
    CHECK(y.magnetisation == x.magnetisation);
  }
  CHECK(gpu->work().cluster_sites == cpu->work().cluster_sites);
}

}  // namespace

TEST_CASE("few-cluster updates on CUDA equal the CPU over lattices, tiles and models", "[gpu]") {
  const std::vector<std::vector<std::uint32_t>> shapes{
      {24},      {2300},    {4, 4},      {34, 6},    {64, 64},     {96, 34},
      {130, 22}, {6, 4, 8}, {34, 10, 6}, {64, 8, 6}, {4, 4, 4, 6}, {80, 4, 4, 4}};
  std::size_t cases = 0;
  for (const auto& shape : shapes) {
    for (const double p : {0.0, 0.1}) {
      const Graph graph = build_graph({shape, p, Rule::rewire, 7});
      for (const std::uint32_t tile : {0u, 1u, 5u, 4096u}) {
        const std::uint32_t q = std::vector<std::uint32_t>{0, 2, 3, 7, 255}[cases % 5];
        check(graph, spec_of(q, tile, {0.25, 0.45, 1.0}),
              cases % 2 == 0 ? Schedule{0, 3} : Schedule{1, 2}, 6);
        ++cases;
      }
    }
  }
  CHECK(cases >= 60);
}

TEST_CASE("few-cluster updates on CUDA equal the CPU on imported and on large graphs", "[gpu]") {
  const Graph hubs = oracle::imported_graph(oracle::hubs(25, 6, 4), "hubs");
  const Graph wide = build_graph({{512, 384}, 0.02, Rule::rewire, 3});
  for (const std::uint32_t q : {0u, 4u}) {
    check(hubs, spec_of(q, 0, {0.1, 0.8}), {0, 3}, 10);
    check(wide, spec_of(q, 0, {0.44, 1.1}), {0, 3}, 2);
  }
}

TEST_CASE("few-cluster updates on CUDA: a short run for the sanitizers", "[gpu]") {
  const Graph rows = build_graph({{96, 34}, 0.1, Rule::rewire, 2});
  const Graph solid = build_graph({{6, 4, 8}, 0.3, Rule::add, 2});
  for (const std::uint32_t q : {0u, 3u}) {
    check(rows, spec_of(q, 5, {0.4}), {0, 1}, 2);
    check(solid, spec_of(q, 0, {0.3}), {0, 1}, 2);
  }
}

}  // namespace cuda_few_cluster_test

// The published labelling methods on CUDA: Swendsen-Wang updates equal those of the CPU bit for
// bit, and labels of given bonds equal those of the CPU methods.
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/base/error.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/methods.hpp"
#include "src/label/labeller.hpp"
#include "src/label/method.hpp"
#include "src/label/papers/components_cuda.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/edge_list.hpp"

namespace cuda_labels_test {
namespace {

using namespace rewise;

struct Choice {
  LabelMethod method;
  std::uint32_t tile;  // 0: the default of the method
};

// All named methods; those with tiles once for each of these tile edges.
std::vector<Choice> choices(const std::vector<std::uint32_t>& edges) {
  std::vector<Choice> all;
  for (int m = static_cast<int>(LabelMethod::label_equivalence); m < kLabelMethods; ++m) {
    const auto method = static_cast<LabelMethod>(m);
    if (!is_tiled(method)) {
      all.push_back({method, 0});
      continue;
    }
    for (const std::uint32_t edge : edges) all.push_back({method, edge});
  }
  return all;
}

// Ising for q = 0, else Potts. The temperatures are above and below the transition of the square
// lattice.
EngineSpec spec_of(std::uint32_t q, std::uint32_t replicas) {
  EngineSpec spec;
  spec.cluster = ClusterUpdate::swendsen_wang;
  spec.betas = {0.3, 0.5};
  if (q > 0) {
    spec.model = {ModelKind::potts, q};
    spec.betas = {0.7, 1.2};
  }
  spec.replicas = replicas;
  spec.seed = 20261121;
  return spec;
}

std::unique_ptr<Engine> engine(const Graph& graph, const EngineSpec& spec, int device,
                               const Choice& choice) {
  EngineOptions options;
  options.threads = 4;
  options.device = device;
  options.methods = {.label = choice.method, .label_tile = choice.tile};
  return make_bytespin_engine(graph, spec, options);
}

// Compares spins and cluster sums with the default method of the CPU, twice during the run. Returns
// the number of cases.
std::size_t check_methods(const Graph& graph, const EngineSpec& spec, std::uint64_t updates,
                          const std::vector<Choice>& methods) {
  const Schedule schedule{0, 1};
  const auto cpu = engine(graph, spec, -1, {LabelMethod::fast, 0});
  std::array<std::uint64_t, 2> hash{};
  std::array<Observation, 2> seen;
  for (std::size_t k = 0; k < seen.size(); ++k) {
    cpu->advance(schedule, updates);
    cpu->measure(seen[k]);
    hash[k] = cpu->trajectory_hash();
  }
  for (const Choice& choice : methods) {
    INFO(graph.sites() << " sites, " << graph.bonds() << " bonds, q " << spec.model.q << ", "
                       << std::string(to_string(choice.method)) << ", tile " << choice.tile);
    const auto gpu = engine(graph, spec, 0, choice);
    for (std::size_t k = 0; k < seen.size(); ++k) {
      gpu->advance(schedule, updates);
      Observation observation;
      gpu->measure(observation);
      CHECK(gpu->trajectory_hash() == hash[k]);
      CHECK(observation.cluster_size == seen[k].cluster_size);
      CHECK(observation.cluster_quartic_low == seen[k].cluster_quartic_low);
      CHECK(observation.cluster_quartic_high == seen[k].cluster_quartic_high);
      CHECK(observation.bond_sum == seen[k].bond_sum);
      CHECK(observation.magnetisation == seen[k].magnetisation);
    }
    CHECK(gpu->work().cluster_updates == cpu->work().cluster_updates);
    CHECK(gpu->work().phases.activate > 0);
    CHECK(gpu->work().phases.merge > 0);
    CHECK(gpu->work().phases.flip > 0);
  }
  return methods.size();
}

Lattice box(const std::vector<std::uint32_t>& extents) {
  Lattice lattice;
  lattice.dim = static_cast<int>(extents.size());
  for (std::size_t k = 0; k < extents.size(); ++k) lattice.extent[k] = extents[k];
  return lattice;
}

// Bonds of a periodic or open lattice, each active with the given probability.
BondConfiguration random_bonds(const std::vector<std::uint32_t>& extents, double probability,
                               bool periodic, std::uint32_t seed) {
  BondConfiguration c(box(extents));
  std::mt19937 random(seed);
  std::bernoulli_distribution occupied(probability);
  for (std::uint64_t s = 0; s < c.sites; ++s) {
    for (int k = 0; k < c.lattice.dim; ++k) {
      const auto site = static_cast<Site>(s);
      const std::uint32_t last = c.lattice.extent[static_cast<std::size_t>(k)] - 1;
      const bool wraps = c.lattice.coordinate(site, k) == last;
      if (occupied(random) && (periodic || !wraps)) c.occupy(site, k);
    }
  }
  return c;
}

// A spiral that leaves every second row and column free: one path through about half of the sites,
// the worst case of methods whose number of passes grows with path length.
BondConfiguration spiral(std::uint32_t edge) {
  BondConfiguration c(box({edge, edge}));
  std::int64_t low = 0, high = edge - 1, row = 0;
  const auto at = [&](std::int64_t x, std::int64_t y) { return static_cast<Site>(y * edge + x); };
  for (; low + 2 < high; low += 2, high -= 2, row += 2) {
    for (std::int64_t x = low; x < high; ++x) c.occupy(at(x, row), 0);
    for (std::int64_t y = row; y < high; ++y) c.occupy(at(high, y), 1);
    for (std::int64_t x = low; x < high; ++x) c.occupy(at(x, high), 0);
    for (std::int64_t y = row + 2; y < high; ++y) c.occupy(at(low, y), 1);
    c.occupy(at(low, row + 2), 0);
    c.occupy(at(low + 1, row + 2), 0);
  }
  return c;
}

// Teeth along y that are joined only by a spine at their far end.
BondConfiguration comb(std::uint32_t width, std::uint32_t height) {
  BondConfiguration c(box({width, height}));
  for (std::uint32_t x = 0; x < width; x += 2) {
    for (std::uint32_t y = 0; y + 1 < height; ++y) c.occupy(y * width + x, 1);
  }
  for (std::uint32_t x = 0; x + 1 < width; ++x) c.occupy((height - 1) * width + x, 0);
  return c;
}

// One path through all sites, back and forth.
BondConfiguration snake(std::uint32_t width, std::uint32_t height) {
  BondConfiguration c(box({width, height}));
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x + 1 < width; ++x) c.occupy(y * width + x, 0);
    if (y + 1 < height) c.occupy(y * width + (y % 2 == 0 ? width - 1 : 0), 1);
  }
  return c;
}

void check_labels(const BondConfiguration& c, std::vector<Choice> methods,
                  const std::string& what) {
  const std::vector<Site> expected = label_components(c);
  methods.push_back({LabelMethod::fast, 0});
  for (const Choice& choice : methods) {
    INFO(what << ", " << std::string(to_string(choice.method)) << ", tile " << choice.tile);
    CHECK(label_components_cuda(c, choice.method, choice.tile, 0).label == expected);
  }
}

}  // namespace

TEST_CASE("labelling methods on CUDA equal the CPU over lattices, rules and q", "[gpu]") {
  const std::vector<std::vector<std::uint32_t>> shapes{
      {24},      {1000},      {4, 6},       {34, 6},      {36, 70},      {130, 22},
      {6, 4, 8}, {34, 10, 6}, {20, 16, 36}, {4, 4, 4, 6}, {10, 8, 6, 4}, {18, 4, 10, 6}};
  std::size_t cases = 0;
  for (std::size_t n = 0; n < shapes.size(); ++n) {
    for (const double p : {0.0, 0.05, 0.5}) {
      for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
        if (p == 0 && rule != Rule::rewire) continue;
        if (shapes[n].size() == 1 && shapes[n][0] < 70 && rule != Rule::rewire) continue;
        const Graph graph = build_graph({shapes[n], p, rule, 7});
        const std::uint32_t q = (n + static_cast<std::size_t>(10 * p)) % 2 == 0 ? 0u : 3u;
        cases += check_methods(graph, spec_of(q, 2), 8, choices({4, 16}));
      }
    }
  }
  CHECK(cases >= 100);
}

TEST_CASE("labelling methods on CUDA equal the CPU at every tile edge", "[gpu]") {
  const Graph graph = build_graph({{200, 134}, 0.02, Rule::rewire, 3});
  for (const std::uint32_t q : {0u, 2u, 4u, 255u}) {
    check_methods(graph, spec_of(q, 1), 4, choices({4, 5, 7, 8, 13, 16, 32, 33, 64}));
  }
  const Graph cube = build_graph({{34, 28, 38}, 0.0, Rule::rewire, 3});
  check_methods(cube, spec_of(0, 1), 4, choices({4, 5, 8, 16, 64}));
}

TEST_CASE("labelling methods on CUDA on imported graphs and large lattices", "[gpu]") {
  for (const Graph& graph : {oracle::imported_graph(oracle::hubs(25, 6, 4), "hubs"),
                             oracle::imported_graph(oracle::complete(20), "complete"),
                             oracle::imported_graph(oracle::hubs(3000, 2, 2), "large hubs")}) {
    check_methods(graph, spec_of(0, 3), 8, choices({0}));
  }
  const Graph wide = build_graph({{1100, 900}, 0.01, Rule::rewire, 3});
  check_methods(wide, spec_of(0, 1), 3, choices({0, 32}));
  const Graph many = build_graph({{32, 32}, 0.1, Rule::rewire, 3});
  check_methods(many, spec_of(3, 150), 3, choices({0}));
}

TEST_CASE("labels on CUDA: worst cases of the methods", "[gpu]") {
  const std::vector<Choice> methods = choices({4, 16, 64});
  check_labels(spiral(161), methods, "spiral");
  check_labels(comb(201, 99), methods, "comb");
  check_labels(snake(97, 61), methods, "snake");
  check_labels(random_bonds({255, 65}, 1, true, 1), methods, "full");
  check_labels(random_bonds({255, 65}, 0, true, 1), methods, "empty");
  check_labels(random_bonds({4097}, 0.999, true, 1), methods, "a long chain");
}

TEST_CASE("labels on CUDA of random bonds on odd, thin and open lattices", "[gpu]") {
  const std::vector<Choice> methods = choices({4, 11, 64});
  std::uint32_t seed = 0;
  for (const std::vector<std::uint32_t>& extents :
       std::vector<std::vector<std::uint32_t>>{{1},
                                               {2},
                                               {301},
                                               {1, 77},
                                               {2, 2},
                                               {3, 130},
                                               {129, 127},
                                               {17, 1, 33},
                                               {31, 33, 35},
                                               {2, 3, 2, 3},
                                               {9, 7, 11, 13}}) {
    const double critical = extents.size() < 3 ? 0.5 : extents.size() == 3 ? 0.25 : 0.16;
    for (const double factor : {0.7, 1.0, 1.5}) {
      BondConfiguration c = random_bonds(extents, factor * critical, seed % 2 == 0, seed);
      check_labels(c, methods, "random");
      std::mt19937 random(seed++);
      std::uniform_int_distribution<Site> any(0, static_cast<Site>(c.sites - 1));
      for (std::uint64_t n = 0; n < c.sites / 20; ++n)
        c.extra.push_back({any(random), any(random)});
      check_labels(c, methods, "random with shortcuts");
    }
  }
}

TEST_CASE("labelling methods on CUDA: short runs for the sanitizers", "[gpu]") {
  const Graph lattice = build_graph({{10, 12}, 0.3, Rule::rewire, 2});
  check_methods(lattice, spec_of(0, 1), 1, choices({4}));
  const Graph cube = build_graph({{6, 4, 8}, 0.1, Rule::add, 2});
  check_methods(cube, spec_of(3, 1), 1, choices({4}));
}

}  // namespace cuda_labels_test

// Improved estimators as control variates. Enumeration checks the quantity by which they are
// reweighted. They cause no bias and reduce noise.
#include "src/results/graph_sample.hpp"

#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "src/results/task_results.hpp"
#include "tests/study/small_task.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

constexpr int kSites = 5, kBonds = 7;
constexpr std::array<std::pair<int, int>, kBonds> kEnds{
    {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}, {0, 2}, {1, 3}}};

int spin(int spins, int site) { return (spins >> site & 1) != 0 ? 1 : -1; }

double energy(int spins) {
  double sum = 0;
  for (const auto& [a, b] : kEnds) sum -= spin(spins, a) * spin(spins, b);
  return sum;
}

double magnetisation(int spins) {
  double sum = 0;
  for (int s = 0; s < kSites; ++s) sum += spin(spins, s);
  return sum;
}

double squares_of_clusters(int bonds) {
  std::array<int, kSites> label{};
  std::iota(label.begin(), label.end(), 0);
  for (int pass = 0; pass < kSites; ++pass) {
    for (int b = 0; b < kBonds; ++b) {
      const auto [x, y] = kEnds[static_cast<std::size_t>(b)];
      if ((bonds >> b & 1) == 0) continue;
      auto &one = label[static_cast<std::size_t>(x)], &other = label[static_cast<std::size_t>(y)];
      one = other = std::min(one, other);
    }
  }
  std::array<double, kSites> size{};
  for (const int l : label) ++size[static_cast<std::size_t>(l)];
  return std::inner_product(size.begin(), size.end(), size.begin(), 0.0);
}

double exact_m2(double beta) {
  double sum = 0, all = 0;
  for (int s = 0; s < 1 << kSites; ++s) {
    const double weight = std::exp(-beta * energy(s));
    all += weight;
    sum += weight * magnetisation(s) * magnetisation(s);
  }
  return sum / all;
}

}  // namespace

TEST_CASE("sum n_c^2 reweights with the number of active bonds, and not with the energy") {
  const double beta = 0.4, other = 0.5, p = 1 - std::exp(-2 * beta);
  const double per_bond = std::expm1(2 * other) / std::expm1(2 * beta);
  double of_spins = 0, by_energy = 0, all_energy = 0, by_bonds = 0, all_bonds = 0;
  for (int s = 0; s < 1 << kSites; ++s) {
    for (int bonds = 0; bonds < 1 << kBonds; ++bonds) {
      double weight = std::exp(-beta * energy(s));  // joint weight of spins and bonds
      int active = 0;
      for (int b = 0; b < kBonds; ++b) {
        const auto [x, y] = kEnds[static_cast<std::size_t>(b)];
        const bool on = (bonds >> b & 1) != 0, alike = spin(s, x) == spin(s, y);
        active += on ? 1 : 0;
        weight *= alike ? (on ? p : 1 - p) : (on ? 0 : 1);
      }
      if (weight == 0) continue;
      const double squares = squares_of_clusters(bonds);
      const double moved = weight * std::exp(-(other - beta) * energy(s));
      of_spins += moved * magnetisation(s) * magnetisation(s);
      by_energy += moved * squares;
      all_energy += moved;
      const double bond_weight = weight * std::pow(per_bond, active);
      by_bonds += bond_weight * squares;
      all_bonds += bond_weight;
    }
  }
  const double exact = exact_m2(other);
  CHECK(of_spins / all_energy == Approx(exact).epsilon(1e-12));
  CHECK(by_bonds / all_bonds == Approx(exact).epsilon(1e-12));
  CHECK(std::abs(by_energy / all_energy - exact) > 0.01 * exact);
}

TEST_CASE("improved estimators differ from plain ones only by noise and lower the error") {
  constexpr std::uint32_t graphs = 40;
  SizeSamples samples;
  samples.sites = 144;
  samples.grid = temperature_grid(2.6, 2.9, 7);
  TaskSpec spec = small_task();
  spec.temperatures = {2.6, 2.75, 2.9};
  spec.cluster = ClusterUpdate::swendsen_wang;
  spec.schedule = {2, 1};
  spec.equilibrate = 30;
  spec.measure = 4;
  spec.every = 2;
  for (std::uint32_t g = 0; g < graphs; ++g) {
    spec.graph = {{12, 12}, 0.1, Rule::rewire, 100 + g};
    spec.seed = 1 + g;
    samples.spec = spec.graph;
    samples.graphs.push_back(graph_sample(spec, run_task({spec}, one_thread()).data, samples.grid,
                                          {.thermal_noise = true}));
    REQUIRE(samples.graphs.back().improved.rows() == 3);
  }
  CHECK(controls(samples).names == std::vector<std::string>{"rewired_ends", "sum_k2"});
  const auto error = [&] {
    const auto f = [](const Moments& m, double, double) { return m(kM2); };
    return curve_over_graphs(0, fine_grid_table(samples), f, controls(samples)).at(3);
  };
  const Value plain = error();
  samples.improved = true;
  const ControlVariates known = controls(samples);
  REQUIRE(known.names ==
          std::vector<std::string>{"rewired_ends", "sum_k2", "improved_m2", "improved_m4"});
  for (const Eigen::Index k : {2, 3}) {
    const Eigen::ArrayXd x = known.x.col(k), noise = known.noise.col(k);
    const double spread = std::sqrt((x - x.mean()).square().sum() / (graphs - 1));
    CHECK(std::abs(x.mean()) < 4 * spread / std::sqrt(graphs));
    // All noise is thermal, so halves of the replicas give the spread over graphs.
    CHECK(std::sqrt(noise.square().mean()) == Approx(spread).epsilon(0.4));
  }
  const Value better = error();
  CHECK(better.error < 0.9 * plain.error);
  CHECK(std::abs(better.value - plain.value) < 4 * plain.error);
  // With few graphs only the counts of the graph are controls.
  samples.graphs.resize(12);
  CHECK(controls(samples).x.cols() == 2);
  // Wolff updates give no improved estimators.
  spec.cluster = ClusterUpdate::wolff;
  CHECK(graph_sample(spec, run_task({spec}, one_thread()).data, samples.grid).improved.rows() == 0);
}

// The two replicas of a couple have energies that deviate by opposite amounts. If both are in the
// same half of the replicas, the halves have equal means.
TEST_CASE("with Houdayer moves, the two halves of the replicas share no couple") {
  for (const std::uint32_t replicas : {3u, 4u, 5u, 6u, 12u, 16u, 20u, 33u, 34u}) {
    for (std::uint32_t first = 0; first + 2 < replicas; ++first) {
      if (first % 4 > 1) continue;
      TaskSpec spec = small_task();
      spec.temperatures = {2.5};
      TaskData data;
      data.configuration = task_configuration(spec);
      data.configuration["sampling.houdayer"] = "true";
      data.graph.sites = 48;
      data.temperature = spec.temperatures;
      data.replicas = replicas;
      data.shape_series();
      for (int t = 0; t < 10; ++t) {
        std::vector<std::int64_t> energy(replicas, 50), magnetisation(replicas, 10);
        energy[first] += 20;
        energy[first + 2] -= 20;
        data.bond_sum.append(energy);
        data.magnetisation.append(magnetisation);
      }
      const GraphSample sample = graph_sample(spec, data, {}, {.thermal_noise = true});
      INFO(replicas << " replicas, couple " << first);
      REQUIRE(sample.simulated_thermal_noise.rows() == 1);
      CHECK(std::abs(sample.simulated_thermal_noise(0, kEnergy)) < 1e-12);
    }
  }
}

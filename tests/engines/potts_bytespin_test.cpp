// The Potts model on square lattices too large to enumerate, and on the 4 x 4 torus, against exact
// energies at the transition. Errors come from independent replicas; |z| < 4, except for q = 10.
// False alarms: 1 in 240 for all 20 checks together.
#include <algorithm>
#include <vector>

#include "src/bytespin/bytespin.hpp"
#include "tests/engines/large_lattice_check.hpp"
#include "tests/support/potts.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

struct PottsRun {
  std::uint32_t q, L;
  LocalUpdate local = LocalUpdate::metropolis;
  ClusterUpdate cluster = ClusterUpdate::swendsen_wang;
  Schedule schedule{0, 1};
  std::uint32_t replicas = 64;
  Lengths lengths{};
  std::uint64_t seed = 1;
};

EngineSpec spec_of(const PottsRun& run) {
  EngineSpec spec;
  spec.model.kind = ModelKind::potts;
  spec.model.q = run.q;
  spec.betas = {potts_beta(run.q)};
  spec.replicas = run.replicas;
  spec.seed = run.seed;
  spec.local = run.local;
  spec.cluster = run.cluster;
  return spec;
}

EngineOptions one_thread() {
  EngineOptions options;
  options.threads = 1;
  return options;
}

// Time averages at the transition. [replica][column]
std::vector<std::vector<double>> rows_at_transition(const PottsRun& run) {
  const Graph graph = build_graph({{run.L, run.L}, 0, Rule::rewire, 1});
  const EngineSpec spec = spec_of(run);
  const auto engine = make_bytespin_engine(graph, spec, one_thread());
  return sample(*engine, spec, run.schedule, static_cast<double>(graph.sites()), run.lengths)[0];
}

}  // namespace

TEST_CASE("Potts, q = 3: e and C of the 4 x 4 torus at Tc") {
  const double beta = potts_beta(3);
  const struct {
    LocalUpdate local;
    ClusterUpdate cluster;
    Schedule schedule;
  } updates[] = {{LocalUpdate::metropolis, ClusterUpdate::wolff, {1, 0}},
                 {LocalUpdate::glauber, ClusterUpdate::wolff, {1, 0}},
                 {LocalUpdate::metropolis, ClusterUpdate::wolff, {0, 2}},
                 {LocalUpdate::metropolis, ClusterUpdate::swendsen_wang, {0, 1}},
                 {LocalUpdate::metropolis, ClusterUpdate::few_cluster, {0, 1}}};
  std::uint64_t seed = 70;
  for (const auto& update : updates) {
    const auto rows = rows_at_transition(
        {3, 4, update.local, update.cluster, update.schedule, 256, {50, longer(400), 1}, ++seed});
    const Estimate e = column(rows, kE);
    const Estimate heat = jackknife(rows, [beta](const std::vector<double>& mean) {
      return 16 * beta * beta * (mean[kE2] - mean[kE] * mean[kE]);
    });
    INFO(to_string(update.local) << ' ' << to_string(update.cluster) << ' '
                                 << to_string(update.schedule) << ": e = " << e.value << " +- "
                                 << e.error << ", C = " << heat.value << " +- " << heat.error);
    CHECK(std::abs(e.z(-1.710062275505)) < 4);
    CHECK(std::abs(heat.z(1.511881241902)) < 4);
  }
}

TEST_CASE("Potts, q = 2: e of L = 64 at Tc equals Kaufman's value") {
  // E_Potts(2 beta) = (E_Ising(beta) - bonds) / 2
  const double exact = (kaufman(64, potts_beta(2) / 2).energy - 2) / 2;
  const struct {
    ClusterUpdate cluster;
    Schedule schedule;
  } updates[] = {{ClusterUpdate::wolff, {1, 2}},
                 {ClusterUpdate::swendsen_wang, {0, 1}},
                 {ClusterUpdate::few_cluster, {0, 1}}};
  std::uint64_t seed = 80;
  for (const auto& update : updates) {
    const auto rows = rows_at_transition({2,
                                          64,
                                          LocalUpdate::metropolis,
                                          update.cluster,
                                          update.schedule,
                                          32,
                                          {60, longer(100), 1},
                                          ++seed});
    const Estimate e = column(rows, kE);
    INFO(to_string(update.cluster)
         << ": e = " << e.value << " +- " << e.error << ", exact " << exact);
    CHECK(std::abs(e.z(exact)) < 4);
    CHECK(std::abs(difference_z(rows, kCluster, kM2)) < 4);
  }
}

TEST_CASE("Potts, q = 3: e at Tc extrapolates to -(1 + 1/sqrt 3)") {
  // e(L) = e + a L^-(2 - 1/nu) with nu = 5/6. The next term, L^-1.6, is below the errors for
  // L >= 8.
  std::vector<double> x, y, weight;
  for (const std::uint32_t L : {8u, 16u, 32u, 64u}) {
    const auto rows = rows_at_transition({3,
                                          L,
                                          LocalUpdate::metropolis,
                                          ClusterUpdate::swendsen_wang,
                                          {0, 1},
                                          32,
                                          {100, longer(200), 1},
                                          90 + L});
    const Estimate e = column(rows, kE);
    x.push_back(std::pow(L, -0.8));
    y.push_back(e.value);
    weight.push_back(1 / (e.error * e.error));
  }
  double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    s += weight[k];
    sx += weight[k] * x[k];
    sy += weight[k] * y[k];
    sxx += weight[k] * x[k] * x[k];
    sxy += weight[k] * x[k] * y[k];
  }
  const double determinant = s * sxx - sx * sx;
  const Estimate limit{(sxx * sy - sx * sxy) / determinant, std::sqrt(sxx / determinant)};
  const double slope = (s * sxy - sx * sy) / determinant;
  double chi2 = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double rest = y[k] - limit.value - slope * x[k];
    chi2 += weight[k] * rest * rest;
  }
  INFO("e = " << limit.value << " +- " << limit.error << ", exact " << potts_energy(3)
              << ", chi^2 = " << chi2 << " for two degrees of freedom");
  CHECK(std::abs(limit.z(potts_energy(3))) < 4);
  CHECK(limit.error < 0.006);
  CHECK(chi2 < 20);
}

TEST_CASE("Potts, q = 10: two peaks of the energy at the exact energies of the phases") {
  // L = 64 is six correlation lengths. Replicas with ordered and random starts stay in their phases
  // during these few sweeps (interfaces have a weight exp(-0.095 L)), and the energies of the
  // phases equal those of the infinite lattice. Eight replicas per start: |t| > 6 has probability
  // 5e-4.
  const PottsPhases exact = potts_phases(10);
  const PottsRun run{10, 64, LocalUpdate::glauber, ClusterUpdate::wolff, {1, 0}, 16, {}, 101};
  const Graph graph = build_graph({{run.L, run.L}, 0, Rule::rewire, 1});
  const EngineSpec spec = spec_of(run);
  const auto engine = make_bytespin_engine(graph, spec, one_thread());
  const double sites = static_cast<double>(graph.sites());
  const std::uint64_t measure = longer(400);
  constexpr int kBins = 60;  // width 0.02, e = -2 .. -0.8
  std::vector<double> histogram(kBins, 0.0), mean(run.replicas, 0.0);
  engine->advance(run.schedule, 400);
  Observation seen;
  for (std::uint64_t t = 0; t < measure; ++t) {
    engine->advance(run.schedule, 1);
    engine->measure(seen);
    for (std::uint32_t r = 0; r < run.replicas; ++r) {
      const double e = -static_cast<double>(seen.bond_sum[r]) / sites;
      mean[r] += e / static_cast<double>(measure);
      ++histogram[static_cast<std::size_t>(
          std::clamp(static_cast<int>((e + 2) / 0.02), 0, kBins - 1))];
    }
  }
  std::vector<double> cold, hot;
  for (std::uint32_t r = 0; r < run.replicas; ++r) {
    (starts_hot(spec.start, r) ? hot : cold).push_back(mean[r]);
  }
  const auto bin = [](double e) { return static_cast<std::ptrdiff_t>((e + 2) / 0.02); };
  const auto middle = histogram.begin() + bin(potts_energy(10));
  const auto low = std::max_element(histogram.begin(), middle);
  const auto high = std::max_element(middle, histogram.end());
  const Estimate ordered = mean_of(cold), disordered = mean_of(hot);
  INFO("ordered " << ordered.value << " +- " << ordered.error << ", exact " << exact.ordered
                  << "; disordered " << disordered.value << " +- " << disordered.error << ", exact "
                  << exact.disordered << "; peaks in bins " << low - histogram.begin() << " and "
                  << high - histogram.begin());
  CHECK(std::abs(ordered.z(exact.ordered)) < 6);
  CHECK(std::abs(disordered.z(exact.disordered)) < 6);
  CHECK(ordered.error < 0.01);
  CHECK(disordered.error < 0.01);
  // The peaks are in the bins of the exact energies or next to them, with almost nothing in
  // between.
  CHECK(std::abs(low - histogram.begin() - bin(exact.ordered)) <= 1);
  CHECK(std::abs(high - histogram.begin() - bin(exact.disordered)) <= 1);
  CHECK(*middle < 0.01 * std::min(*low, *high));
}

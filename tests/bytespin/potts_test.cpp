// Potts updates against exact enumeration of a graph of 8 sites with a hub, chords and an isolated
// site. Errors come from 64 independent replicas. 24 checks at |z| < 4.5 fail by chance with a
// probability below 1e-3 (Student's t, 63 degrees of freedom).
#include <cmath>
#include <vector>

#include "graphs/graph.hpp"
#include "src/bytespin/bytespin.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

const std::vector<std::pair<Site, Site>> kEnds{{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 4},
                                               {0, 5}, {0, 6}, {4, 5}, {1, 3}};
constexpr std::uint32_t kSites = 8;

Graph hub_graph() {
  std::vector<RewiredBond> bonds;
  for (const auto& [a, b] : kEnds) bonds.push_back({bonds.size(), a, b});
  return Graph(kSites, bonds, {0, 1, 0, 2, 1, 2, 1, 0}, 3, "test");
}

struct Exact {
  double bonds = 0, order = 0;  // <sum delta>, <(q N_max - N) / (N (q - 1))>
};

Exact enumerate(std::uint32_t q, double beta) {
  std::vector<std::uint32_t> s(kSites, 0);
  double z = 0;
  Exact sum;
  for (;;) {
    int equal = 0;
    for (const auto& [a, b] : kEnds) equal += s[a] == s[b];
    std::vector<int> count(q, 0);
    int most = 0;
    for (const std::uint32_t state : s) most = std::max(most, ++count[state]);
    const double w = std::exp(beta * equal);
    z += w;
    sum.bonds += w * equal;
    sum.order += w * (double(q) * most - kSites) / (kSites * (q - 1.0));
    std::uint32_t k = 0;
    while (k < kSites && ++s[k] == q) s[k++] = 0;
    if (k == kSites) return {sum.bonds / z, sum.order / z};
  }
}

// (mean - exact) / error over independent replicas.
double z_score(const std::vector<double>& means, double exact) {
  double sum = 0, square = 0;
  const auto n = static_cast<double>(means.size());
  for (const double x : means) sum += x;
  for (const double x : means) square += (x - sum / n) * (x - sum / n);
  return (sum / n - exact) / std::sqrt(square / (n - 1) / n);
}

}  // namespace

TEST_CASE("Potts updates agree with enumeration") {
  const Graph graph = hub_graph();
  struct Mix {
    LocalUpdate local;
    ClusterUpdate cluster;
    Schedule schedule;
  };
  const std::vector<Mix> mixes{
      {LocalUpdate::metropolis, ClusterUpdate::wolff, {1, 0}},
      {LocalUpdate::glauber, ClusterUpdate::wolff, {1, 0}},
      {LocalUpdate::metropolis, ClusterUpdate::wolff, {0, 3}},
      {LocalUpdate::metropolis, ClusterUpdate::swendsen_wang, {0, 1}},
  };
  EngineSpec spec;
  spec.model.kind = ModelKind::potts;
  spec.replicas = 64;
  for (const std::uint32_t q : {3u, 4u, 2u}) {
    spec.model.q = q;
    spec.betas = {0.9};
    const Exact exact = enumerate(q, spec.betas[0]);
    for (const Mix& mix : mixes) {
      spec.local = mix.local;
      spec.cluster = mix.cluster;
      ++spec.seed;
      EngineOptions options;
      options.threads = 1;
      const auto engine = make_bytespin_engine(graph, spec, options);
      engine->advance(mix.schedule, 100);
      std::vector<double> bonds(spec.replicas), order(spec.replicas);
      constexpr int kMeasurements = 2000;
      Observation seen;
      for (int k = 0; k < kMeasurements; ++k) {
        engine->advance(mix.schedule, 1);
        engine->measure(seen);
        for (std::size_t r = 0; r < spec.replicas; ++r) {
          bonds[r] += static_cast<double>(seen.bond_sum[r]) / kMeasurements;
          order[r] +=
              static_cast<double>(seen.magnetisation[r]) / (kMeasurements * kSites * (q - 1.0));
        }
      }
      INFO("q " << q << ' ' << to_string(mix.local) << ' ' << to_string(mix.cluster) << ' '
                << to_string(mix.schedule));
      CHECK(std::abs(z_score(bonds, exact.bonds)) < 4.5);
      CHECK(std::abs(z_score(order, exact.order)) < 4.5);
    }
  }
}

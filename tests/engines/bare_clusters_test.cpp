// Cluster sums with weights (sum n w, sum w^2) of bare lattices (lattices without their shortcuts)
// against enumeration of the states: <M D> and <D^2> with D = sum w s. Sums over pairs of clusters
// of two replicas are compared with sums of <s_i s_j>^2. Errors come from 384 independent replicas.
// There are 48 checks with |z| < 4. A correct engine would fail for 2 of 1000 choices of the seeds,
// which are fixed.
#include <array>
#include <cmath>

#include "src/multispin/multispin.hpp"
#include "tests/engines/identity_check.hpp"
#include "tests/support/edge_list.hpp"
#include "tests/support/statistics.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

struct Case {
  Graph graph;
  EdgeList list;
  std::vector<double> weight;  // [sites]
};

// Bare lattice and weights, derived from the complete rewired graph.
Case bare_case(const std::vector<std::uint32_t>& extents, double p, std::uint64_t seed) {
  GraphSpec spec{extents, p, Rule::rewire, seed};
  const EdgeList whole = edges_of(build_graph(spec));
  const EdgeList lattice = torus(extents);
  spec.bare = true;
  Case made{build_graph(spec), {whole.sites, {}}, std::vector<double>(whole.sites, 0.0)};
  for (const Edge& home : lattice.edges) {
    for (const Edge& edge : whole.edges) {
      if (edge.id != home.id) continue;
      const bool a = edge.a == home.a, b = edge.b == home.b;
      if (a && b) made.list.edges.push_back(home);
      if (a != b) made.weight[a ? home.a : home.b] += 1;
    }
  }
  return made;
}

// <M^2>, <M D>, <D^2>.
std::array<double, 3> enumerate(const Case& on, double beta) {
  std::array<double, 3> sums{};
  double z = 0;
  for (std::uint32_t state = 0; state < 1u << on.list.sites; ++state) {
    const auto spin = [&](std::uint32_t site) { return (state >> site & 1u) != 0 ? 1.0 : -1.0; };
    double bonds = 0, m = 0, d = 0;
    for (const Edge& edge : on.list.edges) bonds += spin(edge.a) * spin(edge.b);
    for (std::uint32_t site = 0; site < on.list.sites; ++site) {
      m += spin(site);
      d += on.weight[site] * spin(site);
    }
    const double boltzmann = std::exp(beta * bonds);
    z += boltzmann;
    sums[0] += boltzmann * m * m;
    sums[1] += boltzmann * m * d;
    sums[2] += boltzmann * d * d;
  }
  for (double& sum : sums) sum /= z;
  return sums;
}

// Sums over sites i, j of <s_i s_j>^2, of <s_i s_j>^2 w_j and of <s_i s_j>^2 w_i w_j.
std::array<double, 3> enumerate_squares(const Case& on, double beta) {
  const std::uint32_t n = on.list.sites;
  std::vector<double> pair(n * n, 0.0);
  double z = 0;
  for (std::uint32_t state = 0; state < 1u << n; ++state) {
    const auto spin = [&](std::uint32_t site) { return (state >> site & 1u) != 0 ? 1.0 : -1.0; };
    double bonds = 0;
    for (const Edge& edge : on.list.edges) bonds += spin(edge.a) * spin(edge.b);
    const double boltzmann = std::exp(beta * bonds);
    z += boltzmann;
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::uint32_t j = 0; j < n; ++j) pair[i * n + j] += boltzmann * spin(i) * spin(j);
    }
  }
  std::array<double, 3> sums{};
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t j = 0; j < n; ++j) {
      const double square = pair[i * n + j] / z * (pair[i * n + j] / z);
      sums[0] += square;
      sums[1] += square * on.weight[j];
      sums[2] += square * on.weight[i] * on.weight[j];
    }
  }
  return sums;
}

EngineSpec spec_of(const std::vector<double>& temperatures, std::uint32_t replicas) {
  EngineSpec spec;
  for (const double t : temperatures) spec.betas.push_back(1 / t);
  spec.replicas = replicas;
  spec.seed = 4711;
  spec.cluster = ClusterUpdate::swendsen_wang;
  return spec;
}

}  // namespace

void check_means(const std::vector<std::array<double, 3>>& rows, std::size_t t,
                 const std::array<double, 3>& exact) {
  const std::size_t each = rows.size() / 2;
  for (std::size_t q = 0; q < 3; ++q) {
    std::vector<double> values;
    for (std::size_t k = each * t; k < each * (t + 1); ++k) values.push_back(rows[k][q]);
    const Estimate estimate = mean_of(values);
    INFO("quantity " << q << " at temperature " << t << ": " << estimate.value << " +- "
                     << estimate.error << ", exact " << exact[q]);
    CHECK(std::abs(estimate.z(exact[q])) < 4);
    CHECK(estimate.error < 0.05 * exact[q]);
  }
}

TEST_CASE("cluster sums with weights equal enumeration on bare lattices") {
  const std::vector<Case> cases{bare_case({4, 4}, 0.4, 3), bare_case({4, 4}, 0.8, 2),
                                bare_case({16}, 0.6, 5), bare_case({4, 4}, 1, 4)};
  for (const Case& on : cases) {
    REQUIRE(difference(on.graph, on.list) == "");
    EngineSpec spec = spec_of({1.2, 2.8}, 384);
    spec.cluster_pairs = true;
    EngineOptions options;
    options.threads = 1;
    const auto engine = make_multispin_engine(on.graph, spec, options);
    engine->advance({0, 1}, 60);
    Observation seen;
    engine->measure(seen);
    constexpr int kMeasurements = 40;
    constexpr double each = 1.0 / (2 * kMeasurements);
    std::vector<std::array<double, 3>> rows(2 * 384, std::array<double, 3>{}), pairs = rows;
    pairs.resize(384);
    for (int n = 0; n < kMeasurements; ++n) {
      engine->advance({0, 1}, 2);
      engine->measure(seen);
      REQUIRE(seen.cluster_cross.size() == rows.size());
      REQUIRE(seen.pair_size.size() == pairs.size());
      for (std::size_t k = 0; k < rows.size(); ++k) {
        rows[k][0] += static_cast<double>(seen.cluster_size[k]) * each;
        rows[k][1] += static_cast<double>(seen.cluster_cross[k]) * each;
        rows[k][2] += static_cast<double>(seen.cluster_weight[k]) * each;
      }
      for (std::size_t k = 0; k < pairs.size(); ++k) {
        pairs[k][0] += static_cast<double>(seen.pair_size[k]) * each;
        pairs[k][1] += static_cast<double>(seen.pair_cross[k]) * each;
        pairs[k][2] += static_cast<double>(seen.pair_weight[k]) * each;
      }
    }
    for (std::size_t t = 0; t < 2; ++t) {
      check_means(rows, t, enumerate(on, spec.betas[t]));
      check_means(pairs, t, enumerate_squares(on, spec.betas[t]));
    }
  }
}

TEST_CASE("cluster sums with weights do not depend on threads, stops and restarts") {
  for (const auto& [extents, p] : std::vector<std::pair<std::vector<std::uint32_t>, double>>{
           {{36, 34}, 0.1}, {{500}, 0.3}, {{10, 6, 8}, 1.0}, {{64, 40}, 0.01}}) {
    GraphSpec graph_spec{extents, p, Rule::rewire, 6};
    graph_spec.bare = true;
    const Graph graph = build_graph(graph_spec);
    EngineSpec spec = spec_of({1.4, 2.5}, 64);
    spec.cluster_pairs = true;
    std::vector<EngineOptions> options(3);
    for (std::size_t k = 0; k < 3; ++k) options[k].threads = static_cast<int>(2 * k + 1);
    check_resume(make_multispin_engine, graph, spec, {0, 2}, options, 11);
    CHECK(check_stops(make_multispin_engine, graph, spec, {1, 2}, options, 12) > 4);
  }
}

TEST_CASE("graphs without weights give no sums with weights") {
  GraphSpec graph_spec{{8, 8}, 0.2, Rule::add, 6};
  graph_spec.bare = true;
  const Graph bare = build_graph(graph_spec), rewired = build_graph({{8, 8}, 0.2, Rule::rewire, 6});
  for (const Graph* graph : {&bare, &rewired}) {
    const auto engine = make_multispin_engine(*graph, spec_of({2.5}, 32), {});
    engine->advance({0, 1}, 1);
    Observation seen;
    engine->measure(seen);
    CHECK(seen.cluster_size.size() == 32);
    CHECK(seen.cluster_cross.empty());
    CHECK(seen.cluster_weight.empty());
    CHECK(seen.pair_size.empty());
  }
  EngineSpec spec = spec_of({2.5}, 32);
  spec.cluster_pairs = true;
  const auto engine = make_multispin_engine(bare, spec, {});
  const auto plain = make_multispin_engine(bare, spec_of({2.5}, 32), {});
  Observation seen;
  for (const auto& one : {engine.get(), plain.get()}) one->advance({1, 2}, 3);
  engine->measure(seen);
  CHECK(seen.pair_size.size() == 16);
  CHECK(seen.pair_cross.empty());
  CHECK(engine->save().bytes.size() > plain->save().bytes.size());
  CHECK(engine->trajectory_hash() == plain->trajectory_hash());
}

TEST_CASE("steps before first_pair_step add nothing to sums over pairs of clusters") {
  GraphSpec graph_spec{{16, 16}, 0.2, Rule::rewire, 6};
  graph_spec.bare = true;
  const Graph bare = build_graph(graph_spec);
  EngineSpec spec = spec_of({2.5}, 32);
  spec.cluster_pairs = true;
  const auto all = make_multispin_engine(bare, spec, {});
  spec.first_pair_step = 6;
  const auto later = make_multispin_engine(bare, spec, {});
  Observation first, expected, seen;
  all->advance({2, 1}, 2);
  all->measure(first);
  all->advance({2, 1}, 3);
  all->measure(expected);
  later->advance({2, 1}, 5);
  later->measure(seen);
  CHECK(seen.pair_size == expected.pair_size);
  CHECK(seen.pair_size != first.pair_size);
  CHECK(seen.cluster_size != expected.cluster_size);  // includes all steps
}

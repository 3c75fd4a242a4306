// Tests of the oracles: published and closed-form values, and comparisons between oracles.
#include "tests/support/oracle.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/cases.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/edge_list.hpp"
#include "tests/support/kaufman.hpp"
#include "tests/support/reference.hpp"
#include "tests/support/statistics.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

const double kTc = 2 / std::log(1 + std::sqrt(2.0));

// Compares with a published value that is rounded to `digits` decimal places (at most 12).
void check_digits(double value, double printed, int digits) {
  CHECK(value == Approx(printed).epsilon(0).margin(0.5000001 * std::pow(10.0, -digits)));
}

}  // namespace

TEST_CASE("enumeration gives the published values of the 4 x 4 torus") {
  const IsingStates states(torus({4, 4}));
  const double temperature[] = {2.0, kTc, 3.0};
  const double published[3][4] = {{.918943267402, .868921681642, .804530078689, .644810791188},
                                  {.843860444813, .761358908569, .665691213267, .617199318412},
                                  {.601291326039, .450988140848, .316958977929, .480540660059}};
  for (int k = 0; k < 3; ++k) {
    const Averages a = states.at(1 / temperature[k]);
    check_digits(a.abs_m, published[k][0], 12);
    check_digits(a.m2, published[k][1], 12);
    check_digits(a.m4, published[k][2], 12);
    check_digits(a.binder, published[k][3], 12);
    CHECK(a.susceptibility ==
          Approx(16 * (a.m2 - a.abs_m * a.abs_m) / temperature[k]).epsilon(1e-13));
  }
  CHECK(states.count(-32, 16) == 1);
  CHECK(states.count(-32, -16) == 1);
  CHECK(states.count(-24, 14) == 16);
  CHECK(states.count(32, 0) == 2);
  CHECK(states.count(-30, 14) == 0);
}

TEST_CASE("the states of 24 sites are all counted") {
  const IsingStates states(torus({6, 4}));
  std::uint64_t sum = 0;
  for (int energy = -48; energy <= 48; ++energy) {
    for (int m = -24; m <= 24; ++m) {
      sum += states.count(energy, m);
      REQUIRE(states.count(energy, m) == states.count(energy, -m));
    }
  }
  CHECK(sum == 1u << 24);
}

TEST_CASE("enumeration gives the ring's closed form") {
  const double beta = 0.5, t = std::tanh(beta);
  const Averages eight = IsingStates(torus({8})).at(beta);
  check_digits(eight.energy, -.465649250982, 12);
  check_digits(eight.m2, .338374806999, 12);
  for (const int n : {3, 5, 10, 24}) {
    const Averages a = IsingStates(torus({static_cast<std::uint32_t>(n)})).at(beta);
    CHECK(a.energy == Approx(-(t + std::pow(t, n - 1)) / (1 + std::pow(t, n))).epsilon(1e-12));
  }
}

TEST_CASE("enumeration gives <E> of the 6-ring with a chord") {
  EdgeList list = torus({6});
  list.edges.push_back({6, 0, 3});
  check_digits(6 * IsingStates(list).at(0.6).energy, -4.660, 3);
}

TEST_CASE("graphs of the library have the same edges as the lattices of the oracle") {
  const std::vector<std::vector<std::uint32_t>> shapes = {
      {8},      {10},      {70},      {4, 4},     {6, 4},       {4, 6},       {10, 12},    {34, 6},
      {36, 70}, {4, 4, 4}, {6, 4, 8}, {4, 10, 6}, {4, 4, 4, 4}, {4, 4, 4, 6}, {6, 4, 4, 8}};
  std::uint64_t seed = 1;
  for (const auto& shape : shapes) {
    for (const auto rule : {Rule::rewire, Rule::swap, Rule::add}) {
      for (const double p : {0.0, 0.02, 0.3, 1.0}) {
        INFO("dim " << shape.size() << ", first extent " << shape[0] << ", rule " << to_string(rule)
                    << ", p = " << p << ", seed " << seed);
        const Graph graph = build_graph({shape, p, rule, seed++});
        const EdgeList list = edges_of(graph);
        CHECK(difference(graph, list) == "");
        const std::size_t lattice_bonds = std::size_t{list.sites} * shape.size();
        if (rule != Rule::add) CHECK(list.edges.size() == lattice_bonds);
        if (p == 0) CHECK(list.edges.size() == lattice_bonds);
      }
    }
  }
}

TEST_CASE("imported graphs have the edges of their list") {
  for (const EdgeList& list : {star(20), complete(7), petersen(), hubs(9, 4, 3),
                               complete_bipartite(5, 8), renumbered(torus({2, 3, 4}))}) {
    const Graph graph = imported_graph(list, "test");
    graph.validate();
    CHECK(difference(graph, list) == "");
    CHECK(difference(graph, edges_of(graph)) == "");
  }
}

TEST_CASE("enumeration of small graphs by hand") {
  // One bond: e = -tanh(beta)/2 per site, m^2 = (1 + tanh beta)/2.
  const double beta = 0.7, t = std::tanh(beta);
  const Averages pair = IsingStates(star(1)).at(beta);
  CHECK(pair.energy == Approx(-t / 2).epsilon(1e-13));
  CHECK(pair.m2 == Approx((1 + t) / 2).epsilon(1e-13));
  // Isolated sites: m^2 = 1/n, m^4 = (3 - 2/n)/n^2.
  const Averages free = IsingStates(from_pairs(5, {})).at(beta);
  CHECK(free.energy == 0);
  CHECK(free.m2 == Approx(1. / 5).epsilon(1e-13));
  CHECK(free.m4 == Approx((3 - 2. / 5) / 25).epsilon(1e-13));
  // A star of n leaves: Z = 2 (2 cosh beta)^n, so e = -n tanh(beta) / (n + 1) and
  // C = n beta^2 / cosh^2(beta) / (n + 1).
  const Averages hub = IsingStates(star(15)).at(beta);
  CHECK(hub.energy == Approx(-15 * t / 16).epsilon(1e-12));
  CHECK(hub.specific_heat == Approx(15 * beta * beta * (1 - t * t) / 16).epsilon(1e-11));
}

TEST_CASE("Kaufman's torus gives known averages") {
  struct Row {
    int L;
    double e20, c20, etc, ctc, e24, c24, e30, c30;
  };
  const Row rows[] = {{4, -1.7553802888, .605532657, -1.5656237876, .783266826, -1.4606597705,
                       .814773047, -1.0170696270, .603134714},
                      {8, -1.7456831703, .714122603, -1.4915891074, 1.145559240, -1.3372199279,
                       1.184149055, -.8413154279, .483966471},
                      {16, -1.7455306690, .725508768, -1.4530648528, 1.498704959, -1.2550431980,
                       1.408170079, -.8176893679, .404332574},
                      {32, -1.7455645270, .724873978, -1.4336584661, 1.846767590, -1.2126012540,
                       1.283587887, -.8173097389, .401381948},
                      {64, -1.7455645753, .724871449, -1.4239383898, 2.192211393, -1.2042317258,
                       1.134059247, -.8173095925, .401379576},
                      {128, -1.7455645753, .724871449, -1.4190762721, 2.536331335, -1.2039748021,
                       1.123063609, -.8173095925, .401379576}};
  for (const Row& row : rows) {
    const double temperature[] = {2.0, kTc, 2.4, 3.0};
    const double e[] = {row.e20, row.etc, row.e24, row.e30};
    const double c[] = {row.c20, row.ctc, row.c24, row.c30};
    for (int k = 0; k < 4; ++k) {
      INFO("L = " << row.L << ", T = " << temperature[k]);
      const TorusAverages a = kaufman(row.L, 1 / temperature[k]);
      check_digits(a.energy, e[k], 10);
      check_digits(a.specific_heat, c[k], 9);
    }
  }
}

TEST_CASE("Kaufman's torus equals enumeration at L = 4") {
  const IsingStates states(torus({4, 4}));
  for (double beta = 0.1; beta < 1.2; beta += 0.05) {
    const TorusAverages exact = kaufman(4, beta);
    const Averages a = states.at(beta);
    CHECK(exact.energy == Approx(a.energy).epsilon(1e-13));
    CHECK(exact.specific_heat == Approx(a.specific_heat).epsilon(1e-10));
  }
}

TEST_CASE("Potts enumeration: published values for q = 3, Ising for q = 2, one bond by hand") {
  const double tc3 = 1 / std::log(1 + std::sqrt(3.0));
  const Averages three = PottsStates(torus({4, 4}), 3).at(1 / tc3);
  check_digits(three.energy, -1.710062275505, 12);
  check_digits(three.specific_heat, 1.511881241902, 12);

  const EdgeList list = petersen();
  const Averages two = PottsStates(list, 2).at(0.9), ising = IsingStates(list).at(0.45);
  CHECK(two.energy == Approx((ising.energy - 1.5) / 2).epsilon(1e-13));
  CHECK(two.m2 == Approx(ising.m2).epsilon(1e-13));
  CHECK(two.m4 == Approx(ising.m4).epsilon(1e-13));
  CHECK(two.cluster == Approx(ising.m2).epsilon(1e-13));
  CHECK(two.cluster_quartic == Approx(ising.m4).epsilon(1e-13));
  CHECK(two.abs_m == Approx(ising.abs_m).epsilon(1e-13));
  CHECK(two.specific_heat == Approx(ising.specific_heat).epsilon(1e-12));

  const double x = std::exp(0.8);  // one bond, q = 7: <delta> = x / (x + 6)
  CHECK(PottsStates(star(1), 7).at(0.8).energy == Approx(-x / (x + 6) / 2).epsilon(1e-13));
}

TEST_CASE("bond-set enumeration equals spin enumeration") {
  const EdgeList lists[] = {torus({4, 2}), petersen(), star(9), complete(6), hubs(6, 2, 2)};
  for (const EdgeList& list : lists) {
    for (const double beta : {0.2, 0.5, 1.0}) {
      const Averages spins = IsingStates(list).at(beta);
      const ClusterAverages clusters = fortuin_kasteleyn(list, 2, 2 * beta);
      CHECK(clusters.square == Approx(spins.m2).epsilon(1e-12));
      CHECK(clusters.quartic == Approx(spins.m4).epsilon(1e-12));
      for (const std::uint32_t q : {3u, 4u}) {  // the order parameter is a vector (oracle.hpp)
        const Averages potts = PottsStates(list, q).at(beta);
        const ClusterAverages bonds = fortuin_kasteleyn(list, q, beta);
        CHECK(bonds.square == Approx(potts.cluster).epsilon(1e-12));
        CHECK(bonds.quartic == Approx(potts.cluster_quartic).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("states that checkerboard Metropolis does not reach") {
  const auto unreached = [](const Graph& graph, double beta) {
    return metropolis_unreached(edges_of(graph), colours_of(graph), beta);
  };
  // At T = 2, the update does not reach states of more than a third of the weight of the regular
  // ring of 8 sites. It reaches all states of a rewired ring.
  CHECK(unreached(build_graph({{8}, 0, Rule::rewire, 1}), 0.5) > 1. / 3);
  CHECK(unreached(build_graph({{12}, 0.2, Rule::rewire, 1}), 0.5) == 0);
  // Two isolated sites always flip together, so half of the weight is not reached. With one
  // isolated site all states are reached.
  CHECK(unreached(imported_graph(hubs(6, 4, 2), "two isolated"), 0.5) ==
        Approx(0.5).epsilon(1e-12));
  CHECK(unreached(imported_graph(hubs(6, 4, 1), "one isolated"), 0.5) == 0);
  // On the regular 4 x 4 torus, stripes of width 1 are not reached, because the update only shifts
  // them. Their weight is 1e-6 at T = 2.
  const double torus44 = unreached(build_graph({{4, 4}, 0, Rule::rewire, 1}), 0.5);
  CHECK(torus44 > 0);
  CHECK(torus44 < 2e-6);
  // On graphs of the Metropolis tests, the weight that is not reached is below the resolution of
  // these tests.
  for (const SmallGraph& small : small_graphs()) {
    if (!small.metropolis_mixes || small.list.sites > 18) continue;
    INFO(small.name);
    CHECK(unreached(small.graph, 1 / small.temperatures.back()) < 3e-4);
  }
}

TEST_CASE("the normality test accepts normal numbers at the stated rate and rejects others") {
  // Known quantiles of the statistic: 2.492 (5%), 3.878 (1%).
  CHECK(anderson_darling_cdf(2.492) == Approx(0.95).margin(2e-4));
  CHECK(anderson_darling_cdf(3.878) == Approx(0.99).margin(1e-4));
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  const int trials = 2000;
  int below_one_percent = 0;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> z(400);
    for (double& v : z) v = normal(random);
    below_one_percent += normality(z).p < 0.01;
  }
  CHECK(below_one_percent > 20 - 4 * std::sqrt(20.));
  CHECK(below_one_percent < 20 + 4 * std::sqrt(20.));
  // 400 numbers that are 1.4 times too wide, or shifted by 0.5, are rejected at 1e-4.
  std::vector<double> wide(400), shifted(400);
  for (double& v : wide) v = 1.4 * normal(random);
  for (double& v : shifted) v = 0.5 + normal(random);
  CHECK(normality(wide).p < 1e-4);
  CHECK(normality(shifted).p < 1e-4);
  CHECK(std::abs(normality(shifted).mean_z) > 4);
  CHECK(normality(wide).variance_z > 4);
}

TEST_CASE("jackknife: gives the standard error of a mean and removes the bias of a square") {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  std::vector<double> x(50);
  std::vector<std::vector<double>> rows;
  for (double& v : x) {
    v = normal(random);
    rows.push_back({v});
  }
  const Estimate mean = mean_of(x);
  const Estimate same = jackknife(rows, [](const std::vector<double>& m) { return m[0]; });
  CHECK(same.value == Approx(mean.value).margin(1e-12));
  CHECK(same.error == Approx(mean.error).epsilon(1e-10));
  // The jackknife of a square is (mean)^2 - (variance of the mean), which has no bias.
  const Estimate square = jackknife(rows, [](const std::vector<double>& m) { return m[0] * m[0]; });
  CHECK(square.value == Approx(mean.value * mean.value - mean.error * mean.error).margin(1e-12));
}

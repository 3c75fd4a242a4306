#include "analysis/series/moments.hpp"

#include "analysis/series/observables.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/scaling/curves.hpp"
#include "analysis/series/autocorrelation.hpp"
#include "src/base/error.hpp"
#include "tests/analysis/torus.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using test::torus;

TEST_CASE("the enumeration of the 4 x 4 torus equals the published values") {
  const Moments cold = torus().moments(1 / 2.0), hot = torus().moments(1 / 3.0);
  CHECK(cold[kEnergy] == Approx(-1.7553802888).epsilon(1e-10));
  CHECK(specific_heat(cold, 16, 2.0) == Approx(.605532657).epsilon(1e-8));
  CHECK(cold[kAbsMagnetisation] == Approx(.918943267402).epsilon(1e-11));
  CHECK(cold[kM2] == Approx(.868921681642).epsilon(1e-11));
  CHECK(cold[kM4] == Approx(.804530078689).epsilon(1e-11));
  CHECK(binder(cold) == Approx(.644810791188).epsilon(1e-11));
  CHECK(binder(hot) == Approx(.480540660059).epsilon(1e-11));
  CHECK(susceptibility(hot, 16, 3.0) ==
        Approx(16 * (.450988140848 - .601291326039 * .601291326039) / 3).epsilon(1e-10));
  CHECK(scaled_m2(hot, 16) == Approx(4 * .450988140848).epsilon(1e-11));
}

TEST_CASE("moments of a hand-made series") {
  IntSeries bonds(2, 2), magnetisation(2, 2);
  bonds << 8, 4, 0, -4;
  magnetisation << 4, -2, 0, 2;
  const Moments m = mean_moments(bonds, magnetisation, 4);
  CHECK(m[kEnergy] == -0.5);
  CHECK(m[kEnergySquared] == 1.5);
  CHECK(m[kAbsMagnetisation] == 0.5);
  CHECK(m[kM2] == (1 + 0.25 + 0 + 0.25) / 4);
  CHECK(m[kM4] == (1 + 0.0625 + 0 + 0.0625) / 4);
  const MomentRows rows = block_moments(bonds, magnetisation, 4, 2);
  CHECK(rows.rows() == 4);
  CHECK(rows(1, kEnergy) == 0);   // replica 0, time 1
  CHECK(rows(2, kEnergy) == -1);  // replica 1, time 0
}

TEST_CASE("replicas that Houdayer moves couple are one member of the sample") {
  // Replicas 0 and 2, 1 and 3, 4 and 6 are couples; replica 5 has no partner.
  const ReplicaDependence replicas = ReplicaDependence::replicas;
  CHECK(members_of(replicas, 7) == 4);
  CHECK(members_of(replicas, 3) == 2);
  CHECK(members_of(ReplicaDependence::overlaps, 3) == 2);
  RealSeries series(1, 7);
  series << 1, 10, 3, 20, 5, 100, 7;
  RealSeries expected(1, 4);
  expected << 2, 15, 6, 100;
  CHECK((member_columns(series, replicas) == expected).all());
  CHECK((member_columns(series, ReplicaDependence::none) == series).all());
  RealSeries two(1, 6), of_two(1, 4);
  two << 1, 3, 8, 4, 6, 9;  // two temperatures with three overlaps each
  of_two << 2, 8, 5, 9;
  CHECK((member_columns(two, ReplicaDependence::overlaps, 2) == of_two).all());
  // Products are those of different members: <e><e'> of e = -1 and -2.
  IntSeries bonds(2, 4), magnetisation = IntSeries::Zero(2, 4);
  bonds << 4, 8, 4, 8, 4, 8, 4, 8;
  CHECK(mean_moments(bonds, magnetisation, 4, nullptr, replicas)[kEnergyPair] == Approx(2));
  CHECK(mean_moments(bonds, magnetisation, 4)[kEnergyPair] == Approx(13.0 / 6));
  bonds << 4, 8, 8, 8, 0, 8, 8, 8;
  const MomentRows rows = block_moments(bonds, magnetisation, 4, 2, replicas);
  REQUIRE(rows.rows() == 4);
  CHECK(rows(0, kEnergy) == -1.5);  // couple 0, time 0
  CHECK(rows(1, kEnergy) == -1);    // couple 0, time 1
  CHECK(rows(1, kEnergyPair) == 1);
  CHECK(rows(3, kEnergy) == -2);
}

TEST_CASE("invalid series are refused") {
  CHECK_THROWS_AS(mean_moments(IntSeries::Zero(3, 2), IntSeries::Zero(2, 2), 4), Error);
  CHECK_THROWS_AS(mean_moments(IntSeries(0, 0), IntSeries(0, 0), 4), Error);
  CHECK_THROWS_AS(mean_moments(IntSeries::Zero(2, 2), IntSeries::Constant(2, 2, 5), 4), Error);
  CHECK_THROWS_AS(block_moments(IntSeries::Zero(2, 2), IntSeries::Zero(2, 2), 4, 3), Error);
}

TEST_CASE("one graph over replicas: intervals of U, C and chi cover the exact values") {
  test::Dice dice(41);
  const double temperature = 2.6, beta = 1 / temperature;
  const Moments exact = torus().moments(beta);
  test::Coverage u(31), c(31), chi(31), e(31);
  for (int i = 0; i < 2000; ++i) {
    const auto samples = torus().sample(beta, 20, 32, dice);
    const auto values = observables_of_graph(
        block_moments(samples.bond_sums, samples.magnetisation_sums, 16), 16, temperature);
    e.add(values[observable("energy")], exact[kEnergy]);
    u.add(values[observable("binder")], binder(exact));
    c.add(values[observable("specific_heat")], specific_heat(exact, 16, temperature));
    chi.add(values[observable("susceptibility")], susceptibility(exact, 16, temperature));
  }
  CHECK_COVERAGE(e);
  CHECK_COVERAGE(u);
  CHECK_COVERAGE(c);
  CHECK_COVERAGE(chi);
}

TEST_CASE("pairs of different members, and pairs of stretches that are not adjacent") {
  test::Dice dice(42);
  for (const Eigen::Index n : {2, 3, 4, 8}) {
    const Eigen::ArrayXd x = dice.normals(n) - 1.5;
    for (const bool in_time : {false, true}) {
      double sum = 0;
      int pairs = 0;
      for (Eigen::Index i = 0; i < n; ++i) {
        for (Eigen::Index j = 0; j < n; ++j) {
          const Eigen::Index apart = std::min((j - i + n) % n, (i - j + n) % n);
          if (apart < (in_time && n >= 4 ? 2 : 1)) continue;
          sum += x[i] * x[j];
          ++pairs;
        }
      }
      CHECK(mean_pair(x, in_time) == Approx(sum / pairs).epsilon(1e-12));
    }
  }
  CHECK(std::isnan(mean_pair(Eigen::ArrayXd::Ones(1))));
}

TEST_CASE("C and chi of one replica use the same measurements, for any number of them") {
  test::Dice dice(43);
  constexpr double sites = 10000, spread = 50;
  for (const Eigen::Index times : {Eigen::Index{96}, Eigen::Index{100}, Eigen::Index{103}}) {
    const Eigen::ArrayXd noise = spread * dice.normals(times);
    const IntSeries sums = (15000 + noise.round()).cast<std::int64_t>();
    const Moments m = mean_moments(sums, IntSeries::Constant(times, 1, 9000), sites);
    // Chi^2 with about 90 degrees of freedom spreads by 15%. A square over all measurements minus
    // pairs over fewer of them would be larger by a factor of 16.
    const double variance = spread * spread / (sites * sites);
    CHECK(m[kEnergySquared] - m[kEnergyPair] == Approx(variance).epsilon(0.6));
    CHECK(m[kM2] - m[kAbsPair] == Approx(0).margin(1e-12));
  }
}

TEST_CASE("<m^2>^2 is a product of averages of different replicas") {
  IntSeries bonds = IntSeries::Zero(2, 3), m(2, 3);
  m << 2, 4, 6, 4, 8, 10;  // [time, replica]
  const double a = (4 + 16) / 2.0, b = (16 + 64) / 2.0, c = (36 + 100) / 2.0;
  double pair_of_m2 = 0;
  mean_moments(bonds, m, 10, &pair_of_m2);
  CHECK(pair_of_m2 == Approx((a * b + a * c + b * c) / 3 / 1e4).epsilon(1e-12));
}

// Short series of many equal graphs. The square of an average over n measurements in R replicas
// would lower C and chi by 2 tau_int/(n R): 1.6% to 25% here, 5 to 90 standard errors.
// 10 comparisons at 4 standard errors: false alarms 6e-4 in all.
TEST_CASE("C and chi of short series, averaged over graphs, are the exact ones") {
  struct Setting {
    Eigen::Index times, replicas;
    double keep;  // probability that a measurement repeats the one before
    int graphs;
  };
  test::Dice dice(43);
  const double temperature = 2.6, beta = 1 / temperature;
  const Moments exact = torus().moments(beta);
  for (const Setting& how :
       {Setting{2, 32, 0, 12000}, Setting{20, 4, 0.3, 8000}, Setting{1, 2, 0, 8000},
        Setting{2, 3, 0.5, 8000}, Setting{64, 1, 0.7, 4000}}) {
    std::vector<double> c, chi, c_squares;
    for (int g = 0; g < how.graphs; ++g) {
      auto samples = torus().sample(beta, how.times, how.replicas, dice);
      for (Eigen::Index t = 1; t < how.times; ++t) {
        for (Eigen::Index r = 0; r < how.replicas; ++r) {
          if (dice.uniform() >= how.keep) continue;
          samples.bond_sums(t, r) = samples.bond_sums(t - 1, r);
          samples.magnetisation_sums(t, r) = samples.magnetisation_sums(t - 1, r);
        }
      }
      const Moments m = mean_moments(samples.bond_sums, samples.magnetisation_sums, 16);
      c.push_back(specific_heat(m, 16, temperature));
      chi.push_back(susceptibility(m, 16, temperature));
      c_squares.push_back(specific_heat(with_squares(m), 16, temperature));
    }
    const Value heat = mean_and_error(c), of_m = mean_and_error(chi),
                squares = mean_and_error(c_squares);
    INFO(how.times << " measurements in " << how.replicas << " replicas: C = " << format_value(heat)
                   << ", chi = " << format_value(of_m) << ", exact "
                   << specific_heat(exact, 16, temperature) << " and "
                   << susceptibility(exact, 16, temperature));
    CHECK(std::abs(heat.value - specific_heat(exact, 16, temperature)) < 4 * heat.error);
    CHECK(std::abs(of_m.value - susceptibility(exact, 16, temperature)) < 4 * of_m.error);
    CHECK(squares.value < specific_heat(exact, 16, temperature) - 4 * squares.error);
  }
}

TEST_CASE("over graphs: C and chi are averages over graphs, U comes from averaged moments") {
  MomentTable graphs;
  graphs.sites = 10;
  graphs.temperature = Eigen::ArrayXd::Constant(1, 2.0);
  const double rows[2][kMomentCount] = {{-1.0, 1.25, 0.5, 0.4, 0.3, 0.2, 1.0, 0.25, 0.04},
                                        {-2.0, 4.50, 0.7, 0.6, 0.5, 0.1, 4.0, 0.49, 0.01}};
  for (std::size_t m = 0; m < kMomentCount; ++m) {
    graphs.table[m].resize(2, 1);
    graphs.table[m] << rows[0][m], rows[1][m];
  }
  const auto estimate = [&](const MomentFunction& f) {
    return curve_over_graphs(0, graphs, f).at(0);
  };
  CHECK(estimate(specific_heat).value == Approx((0.25 + 0.5) / 2 * 10 / 4));
  CHECK(estimate(specific_heat).error == Approx(0.25 / 2 * 10 / 4));
  CHECK(estimate(susceptibility).value == Approx(((0.4 - 0.25) + (0.6 - 0.49)) / 2 * 10 / 2));
  CHECK(estimate(field_susceptibility).value == Approx(((0.4 - 0.04) + (0.6 - 0.01)) / 2 * 10 / 2));
  const double full = 1 - 0.4 / (3 * 0.25);
  const double left = ((1 - 0.3 / (3 * 0.16)) + (1 - 0.5 / (3 * 0.36))) / 2;
  CHECK(estimate(binder_at).value ==
        Approx(2 * full - left));  // jackknifed: full - (n - 1)(left - full)
}

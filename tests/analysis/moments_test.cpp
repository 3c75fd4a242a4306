#include "analysis/moments.hpp"

#include <cmath>

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
  const auto view = view_series(bonds.data(), 2, 2);
  CHECK(view(0, 1) == 4);
  CHECK(mean_moments(view, magnetisation, 4)[kEnergy] == -0.5);
}

TEST_CASE("unfit series are refused") {
  CHECK_THROWS_AS(mean_moments(IntSeries::Zero(3, 2), IntSeries::Zero(2, 2), 4), Error);
  CHECK_THROWS_AS(mean_moments(IntSeries(0, 0), IntSeries(0, 0), 4), Error);
  CHECK_THROWS_AS(mean_moments(IntSeries::Zero(2, 2), IntSeries::Constant(2, 2, 5), 4), Error);
  CHECK_THROWS_AS(block_moments(IntSeries::Zero(2, 2), IntSeries::Zero(2, 2), 4, 3), Error);
}

TEST_CASE("one graph over replicas: intervals of U, C and chi hold the exact values") {
  test::Dice dice(41);
  const double temperature = 2.6, beta = 1 / temperature;
  const Moments exact = torus().moments(beta);
  test::Coverage u(31), c(31), chi(31), e(31);
  for (int i = 0; i < 2000; ++i) {
    const auto samples = torus().sample(beta, 20, 32, dice);
    const Thermodynamics t = thermodynamics_of_graph(
        block_moments(samples.bond_sums, samples.magnetisation_sums, 16), 16, temperature);
    e.add(t.energy, exact[kEnergy]);
    u.add(t.binder, binder(exact));
    c.add(t.specific_heat, specific_heat(exact, 16, temperature));
    chi.add(t.susceptibility, susceptibility(exact, 16, temperature));
  }
  CHECK_COVERAGE(e);
  CHECK_COVERAGE(u);
  CHECK_COVERAGE(c);
  CHECK_COVERAGE(chi);
}

TEST_CASE("over graphs: C is the average of the graphs' own, U comes from averaged moments") {
  MomentRows rows(2, Eigen::Index{kMomentCount});
  rows << -1.0, 1.25, 0.5, 0.4, 0.3,  //
      -2.0, 4.50, 0.7, 0.6, 0.5;
  const Thermodynamics t = thermodynamics_over_graphs(rows, 10, 2.0);
  CHECK(t.specific_heat.value == Approx((0.25 + 0.5) / 2 * 10 / 4));
  CHECK(t.susceptibility.value == Approx(((0.4 - 0.25) + (0.6 - 0.49)) / 2 * 10 / 2));
  const double full = 1 - 0.4 / (3 * 0.25);
  const double left = ((1 - 0.3 / (3 * 0.16)) + (1 - 0.5 / (3 * 0.36))) / 2;
  CHECK(t.binder.value == Approx(2 * full - left));  // jackknifed: full - (n - 1)(left - full)
}

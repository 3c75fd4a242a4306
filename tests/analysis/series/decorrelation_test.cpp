#include "analysis/series/decorrelation.hpp"

#include <cmath>

#include "tests/analysis/synthetic.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::test;

namespace {

// AR(1): rho(t) = phi^t, tau_int = (1 + phi) / (2 (1 - phi)).
double phi_of(double tau) { return (2 * tau - 1) / (2 * tau + 1); }

RealSeries autoregressive(Dice& dice, double tau, Eigen::Index times, Eigen::Index replicas) {
  const double phi = phi_of(tau), kick = std::sqrt(1 - phi * phi);
  RealSeries series(times, replicas);
  for (Eigen::Index r = 0; r < replicas; ++r) {
    double x = dice.normal();
    for (Eigen::Index t = 0; t < times; ++t, x = phi * x + kick * dice.normal()) series(t, r) = x;
  }
  return series;
}

}  // namespace

TEST_CASE("with_tail: corrects tau for the tail beyond the window") {
  for (const double decay : {3.0, 10.0, 40.0}) {
    double all = 0.5;
    for (int t = 1; t < 2000; ++t) all += std::exp(-t / decay);
    for (const double taus : {1.2, 2.0, 4.0}) {
      const int window = static_cast<int>(std::ceil(taus * decay));
      double summed = 0.5;
      for (int t = 1; t <= window; ++t) summed += std::exp(-t / decay);
      const Value tau = with_tail({summed, 0.1}, window);
      INFO(decay << ", window " << window << ": " << summed << " of " << all);
      CHECK(tau.value == Approx(all).epsilon(0.05));
      CHECK(tau.error > 0.1);
    }
  }
  CHECK_THROWS(with_tail({5, 0.1}, 5));
}

TEST_CASE("decorrelated rate: 1/(2 tau c), relative errors added in quadrature") {
  const Value rate = decorrelated_rate({5, 0.15}, {1e-3, 4e-5});
  CHECK(rate.value == Approx(100));
  CHECK(rate.error == Approx(100 * std::hypot(0.03, 0.04)));
  CHECK(decorrelated_rate({0.5, 0}, {2, 0}).value == Approx(0.5));  // white noise: one per cycle
}

TEST_CASE("decorrelated rate of AR(1) series with known tau: its errors cover the true value") {
  Dice dice(11);
  for (const double tau : {2.0, 5.0, 12.0}) {
    Coverage coverage;
    for (int k = 0; k < 400; ++k) {
      // Count the coverage of 1/rate, because it is proportional to tau and its error is symmetric.
      const Value found = gamma_method(autoregressive(dice, tau, 400, 8)).tau;
      const Value rate = decorrelated_rate(found, {1e-3, 0});
      const double seconds = 1 / rate.value;
      coverage.add({seconds, seconds * rate.error / rate.value}, 2 * tau * 1e-3);
    }
    // The error of tau is itself uncertain, so coverage is only close to nominal.
    INFO(tau << ": " << coverage.share_one() << " " << coverage.share_two());
    CHECK(coverage.share_one() > 0.60);
    CHECK(coverage.share_two() > 0.90);
  }
}

TEST_CASE("the typical cost is robust against disturbed pieces") {
  Dice dice(5);
  std::vector<double> pieces;
  for (int k = 0; k < 40; ++k) pieces.push_back(1e-3 * (1 + 0.02 * dice.normal()));
  for (int k = 0; k < 10; ++k) pieces.push_back(1e-2);
  const Value cost = typical_cost(pieces);
  CHECK(std::abs(cost.value - 1e-3) < 2e-5);
  CHECK(cost.error >= 1e-5);  // at least one per cent
  CHECK(cost.error < 4e-5);
  CHECK(typical_cost({3.0}).error == Approx(0.6));
  CHECK(typical_cost({2.0, 4.0}).value == Approx(3));
  CHECK(typical_cost({2, 2, 2}).error == Approx(0.02));
}

TEST_CASE("bounds of a rate are symmetric in its logarithm") {
  const RateBounds bounds = rate_bounds({100, 20}, 2.5);
  CHECK(bounds.low * bounds.high == Approx(1e4));
  CHECK(bounds.high == Approx(100 * std::exp(0.5)));
}

TEST_CASE("tau of correlation curves: an exponential, white noise, a truncated curve") {
  for (const double tau : {1.0, 3.0, 8.0}) {
    RealSeries curves(100, 4);
    for (Eigen::Index t = 0; t < curves.rows(); ++t) {
      curves.row(t) = std::pow(phi_of(tau), static_cast<double>(t + 1));
    }
    const CurveTau found = curve_tau(curves, 100000);
    CHECK(found.window_found);
    CHECK(found.tau.value == Approx(tau).epsilon(0.02));
    CHECK_FALSE(curve_tau(curves.topRows(2), 100000).window_found);
  }
  const CurveTau white = curve_tau(RealSeries::Zero(10, 3), 1000);
  CHECK(white.tau.value == Approx(0.5));
  CHECK(white.tau.error == Approx(0.0).margin(1e-15));
}

#include "analysis/series/correlation_curve.hpp"

#include <cmath>

#include "tests/analysis/synthetic.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

// Gaussian series with rho(t) = decay^t.
RealSeries autoregressive(test::Dice& dice, Eigen::Index times, Eigen::Index replicas,
                          double decay) {
  RealSeries series(times, replicas);
  for (Eigen::Index r = 0; r < replicas; ++r) {
    series(0, r) = dice.normal();
    for (Eigen::Index t = 1; t < times; ++t) {
      series(t, r) = decay * series(t - 1, r) + std::sqrt(1 - decay * decay) * dice.normal();
    }
  }
  return series;
}

}  // namespace

TEST_CASE("mean curve: means of columns, errors from the spread of rows") {
  Eigen::ArrayXXd rows(3, 2);
  rows << 1, 10, 2, 10, 3, 10;
  const MeanCurve curve = mean_curve(rows);
  CHECK(curve.value[0] == Approx(2));
  CHECK(curve.error[0] == Approx(1 / std::sqrt(3.0)));
  CHECK(curve.value[1] == Approx(10));
  CHECK(curve.error[1] == 0);
  CHECK(std::isnan(mean_curve(rows.topRows(1)).error[0]));
  Eigen::ArrayXXd four(4, 1);
  four << 1, 3, 5, 9;
  CHECK(group_means(four, 2)(0, 0) == 2);
  CHECK(group_means(four, 2)(1, 0) == 7);
}

TEST_CASE("mean over groups: errors between groups, but with few groups at least those of rows") {
  Eigen::ArrayXXd alike(8, 1), apart(4, 1);
  alike << 1, 1, 2, 2, 3, 3, 4, 4;
  CHECK(mean_over_groups(alike, 2).value[0] == Approx(2.5));
  CHECK(mean_over_groups(alike, 2).error[0] == Approx(std::sqrt(5 / 12.0)));
  CHECK(mean_over_groups(alike, 1).error[0] == Approx(mean_curve(alike).error[0]));
  CHECK(mean_over_groups(alike, 8).error[0] == Approx(mean_curve(alike).error[0]));
  apart << 1, 3, 3, 1;  // two groups with equal means
  CHECK(mean_over_groups(apart, 2).error[0] == Approx(std::sqrt(1 / 3.0)));
}

TEST_CASE("time to a level of an exponential: its error covers the true value") {
  test::Dice dice(31);
  const Eigen::Index points = 40, members = 32;
  const Eigen::ArrayXd x = Eigen::ArrayXd::LinSpaced(points, 0, 39);
  // Linear interpolation lies above the exponential, so the true value is interpolated as well.
  Eigen::ArrayXd clean = (-x / 10).exp();
  const double truth = time_to_level(x, clean.transpose(), std::exp(-1.25), 1).value;
  CHECK(truth == Approx(12.5).epsilon(1e-3));
  test::Coverage coverage(members - 1);
  for (int i = 0; i < 1000; ++i) {
    Eigen::ArrayXXd rows(members, points);
    for (Eigen::Index m = 0; m < members; ++m) {
      rows.row(m) = (clean * (1 + 0.1 * dice.normal())).transpose();
    }
    coverage.add(time_to_level(x, rows, std::exp(-1.25), 1), truth);
  }
  CHECK_COVERAGE(coverage);
  CHECK(std::isinf(time_to_level(x, clean.transpose(), 1e-3, 1).value));
  CHECK(time_to_level(x, clean.transpose(), 2, 1).value == 0);
  clean[1] = 0;  // a dip before the last crossing does not count
  CHECK(time_to_level(x, clean.transpose(), std::exp(-1.25), 1).value == Approx(truth));
  CHECK(first_time_at_level(x, clean.transpose(), 0.5, 1).value == Approx(0.5));
  CHECK(std::isinf(first_time_at_level(x, clean.transpose(), -1, 1).value));
}

TEST_CASE("autocorrelation curve: AR(1) series, values and errors") {
  test::Dice dice(32);
  const std::vector<Eigen::Index> lags{0, 1, 3, 10};
  std::vector<test::Coverage> coverage(lags.size(), test::Coverage(31));
  for (int i = 0; i < 300; ++i) {
    const MeanCurve curve = autocorrelation_curve(autoregressive(dice, 1000, 32, 0.7), lags, 1);
    CHECK(curve.value[0] == Approx(1));
    for (std::size_t k = 1; k < lags.size(); ++k) {
      const auto at = static_cast<Eigen::Index>(k);
      coverage[k].add({curve.value[at], curve.error[at]},
                      std::pow(0.7, static_cast<double>(lags[k])));
    }
  }
  for (std::size_t k = 1; k < lags.size(); ++k) CHECK_COVERAGE(coverage[k]);
  const MeanCurve constant = autocorrelation_curve(RealSeries::Constant(20, 3, 2.0), {0, 1}, 1);
  CHECK(constant.value[1] == 0);
  CHECK(constant.error[1] == 0);
}

TEST_CASE("tau over replicas: its error covers the true value") {
  test::Dice dice(33);
  const Eigen::Index window = 15;
  const double truth = 0.5 + 0.7 * (1 - std::pow(0.7, 15)) / (1 - 0.7);
  test::Coverage coverage(31);
  for (int i = 0; i < 300; ++i) {
    const RealSeries series = autoregressive(dice, 1000, 32, 0.7);
    std::vector<Eigen::Index> lags;
    for (Eigen::Index t = 1; t <= window; ++t) lags.push_back(t);
    const double tau = 0.5 + autocorrelation_curve(series, lags, 1).value.sum();
    coverage.add({tau, tau_error(series, window, 1)}, truth);
  }
  CHECK_COVERAGE(coverage);
  CHECK(std::isnan(tau_error(autoregressive(dice, 100, 1, 0.7), window, 1)));
}

TEST_CASE("equal replicas of a group count once, few groups: errors at least those of replicas") {
  test::Dice dice(34);
  const std::vector<Eigen::Index> lags{1, 3};
  for (const Eigen::Index groups : {2, 3, 4, 8}) {
    const RealSeries apart = autoregressive(dice, 200, groups, 0.7);
    RealSeries twice(200, 2 * groups);
    for (Eigen::Index g = 0; g < groups; ++g)
      twice.col(2 * g) = twice.col(2 * g + 1) = apart.col(g);
    const MeanCurve once = autocorrelation_curve(apart, lags, 1);
    const MeanCurve both = autocorrelation_curve(twice, lags, 2);
    CHECK(both.value[1] == Approx(once.value[1]));
    CHECK(both.error[1] == Approx(once.error[1]));
    CHECK(tau_error(twice, 10, 2) == Approx(tau_error(apart, 10, 1)));
    CHECK(autocorrelation_curve(twice, lags, 1).error[1] < 0.8 * once.error[1]);
  }
  const Eigen::ArrayXd x = Eigen::ArrayXd::LinSpaced(3, 0, 2);
  Eigen::ArrayXXd rows(4, 3);  // two groups with equal means
  rows << 4, 2, 0, 4, 3, 0, 4, 3, 0, 4, 2, 0;
  const Value time = time_to_level(x, rows, 1, 2);
  CHECK(time.value == Approx(1.6));
  CHECK(time.error == Approx(time_to_level(x, rows, 1, 1).error));
  CHECK(time.error > 0.02);
}

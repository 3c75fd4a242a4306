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

TEST_CASE("mean over groups: errors are those of groups, of few groups no less than of rows") {
  Eigen::ArrayXXd alike(8, 1), apart(4, 1);
  alike << 1, 1, 2, 2, 3, 3, 4, 4;
  CHECK(mean_over_groups(alike, 2).value[0] == Approx(2.5));
  CHECK(mean_over_groups(alike, 2).error[0] == Approx(std::sqrt(5 / 12.0)));
  CHECK(mean_over_groups(alike, 1).error[0] == Approx(mean_curve(alike).error[0]));
  CHECK(mean_over_groups(alike, 8).error[0] == Approx(mean_curve(alike).error[0]));
  apart << 1, 3, 3, 1;  // two groups of one mean
  CHECK(mean_over_groups(apart, 2).error[0] == Approx(std::sqrt(1 / 3.0)));
}

TEST_CASE("time to a level: an exponential's, with an error that covers the truth") {
  test::Dice dice(31);
  const Eigen::Index points = 40, members = 32;
  const Eigen::ArrayXd x = Eigen::ArrayXd::LinSpaced(points, 0, 39);
  // Straight lines between points lie above the exponential: the truth is taken on them as well.
  Eigen::ArrayXd clean = (-x / 10).exp();
  const double truth = time_to_level(x, clean.transpose(), std::exp(-1.25)).value;
  CHECK(truth == Approx(12.5).epsilon(1e-3));
  test::Coverage coverage(members - 1);
  for (int i = 0; i < 1000; ++i) {
    Eigen::ArrayXXd rows(members, points);
    for (Eigen::Index m = 0; m < members; ++m) {
      rows.row(m) = (clean * (1 + 0.1 * dice.normal())).transpose();
    }
    coverage.add(time_to_level(x, rows, std::exp(-1.25)), truth);
  }
  CHECK_COVERAGE(coverage);
  CHECK(std::isinf(time_to_level(x, clean.transpose(), 1e-3).value));
  CHECK(time_to_level(x, clean.transpose(), 2).value == 0);
  clean[1] = 0;  // a dip on the way does not count
  CHECK(time_to_level(x, clean.transpose(), std::exp(-1.25)).value == Approx(truth));
}

TEST_CASE("autocorrelation curve: AR(1) series, values and errors") {
  test::Dice dice(32);
  const std::vector<Eigen::Index> lags{0, 1, 3, 10};
  std::vector<test::Coverage> coverage(lags.size(), test::Coverage(31));
  for (int i = 0; i < 300; ++i) {
    const MeanCurve curve = autocorrelation_curve(autoregressive(dice, 1000, 32, 0.7), lags);
    CHECK(curve.value[0] == Approx(1));
    for (std::size_t k = 1; k < lags.size(); ++k) {
      const auto at = static_cast<Eigen::Index>(k);
      coverage[k].add({curve.value[at], curve.error[at]},
                      std::pow(0.7, static_cast<double>(lags[k])));
    }
  }
  for (std::size_t k = 1; k < lags.size(); ++k) CHECK_COVERAGE(coverage[k]);
  const MeanCurve constant = autocorrelation_curve(RealSeries::Constant(20, 3, 2.0), {0, 1});
  CHECK(constant.value[1] == 0);
  CHECK(constant.error[1] == 0);
}

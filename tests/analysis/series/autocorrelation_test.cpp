#include "analysis/series/autocorrelation.hpp"

#include <cmath>
#include <string>

#include "tests/analysis/synthetic.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/properties.hpp"

using namespace rewise;

namespace {

// x(t+1) = a x(t) + sqrt(1 - a^2) noise, stationary from the start: tau_int = (1+a)/(2(1-a)).
RealSeries ar1(double a, Eigen::Index times, Eigen::Index replicas, test::Dice& dice) {
  RealSeries x(times, replicas);
  for (Eigen::Index r = 0; r < replicas; ++r) x(0, r) = dice.normal();
  for (Eigen::Index t = 1; t < times; ++t) {
    for (Eigen::Index r = 0; r < replicas; ++r) {
      x(t, r) = a * x(t - 1, r) + std::sqrt(1 - a * a) * dice.normal();
    }
  }
  return x;
}

double tau_of(double a) { return (1 + a) / (2 * (1 - a)); }

}  // namespace

TEST_CASE("AR(1): tau_int, its error and the error of the mean") {
  const auto [a, times, replicas] = GENERATE(
      table<double, int, int>({{0.0, 500, 8}, {0.5, 1000, 8}, {0.9, 2000, 8}, {0.95, 20000, 1}}));
  test::Dice dice(101);
  test::Coverage mean;
  const int repetitions = 300;
  double tau_sum = 0, tau_square = 0, error_sum = 0;
  int missed = 0;
  for (int i = 0; i < repetitions; ++i) {
    const GammaResult g = gamma_method(ar1(a, times, replicas, dice));
    mean.add(g.mean, 0);
    tau_sum += g.tau.value;
    tau_square += std::pow(g.tau.value - tau_of(a), 2);
    error_sum += g.tau.error;
    if (!g.window_found) ++missed;
  }
  INFO("a = " << a);
  CHECK(missed == 0);
  CHECK_COVERAGE(mean);
  // The window cuts off exp(-W/tau) of the tail: a bias of a few per cent, as Wolff states.
  const double spread = std::sqrt(tau_square / repetitions), mean_tau = tau_sum / repetitions;
  INFO("mean tau " << mean_tau << " of " << tau_of(a) << ", spread " << spread << ", stated error "
                   << error_sum / repetitions);
  CHECK(std::abs(mean_tau / tau_of(a) - 1) < 0.04);
  CHECK(error_sum / repetitions == Approx(spread).epsilon(0.25));
}

TEST_CASE("no lag reaches across an interruption") {
  test::Dice dice(12);
  const double a = 0.8;
  RealSeries series(0, 4);
  std::vector<Eigen::Index> starts;
  for (int k = 0; k < 800; ++k) {  // independent stretches of 20 and 30 times
    const RealSeries stretch = ar1(a, 20 + 10 * (k % 2), 4, dice);
    starts.push_back(series.rows());
    series.conservativeResize(series.rows() + stretch.rows(), 4);
    series.bottomRows(stretch.rows()) = stretch;
  }
  const GammaResult apart = gamma_method(series, starts), joined = gamma_method(series);
  CHECK(std::abs(apart.tau.value - tau_of(a)) < 4 * apart.tau.error + 0.02 * tau_of(a));
  CHECK(joined.tau.value < tau_of(a) - 4 * joined.tau.error);
  const std::vector<Eigen::Index> whole{0};
  CHECK(gamma_method(series, whole).tau.value == joined.tau.value);
  // The last lag is three quarters of the longest stretch.
  const GammaResult slow = gamma_method(ar1(0.99, 100, 4, dice), std::vector<Eigen::Index>{0, 40});
  CHECK_FALSE(slow.window_found);
  CHECK(slow.window == 45);
}

TEST_CASE("sums over lags do not depend, to the bit, on how many lags are computed together") {
  test::Dice dice(5);
  for (const int replicas : {1, 2, 3, 4, 7, 32}) {
    for (const int times : {2, 3, 5, 8, 61}) {
      const RealSeries series = ar1(0.9, times, replicas, dice);
      const RealSeries x = series - RealSeriesRef(series).mean();
      // Four partial sums, added as (0 + 2) + (1 + 3). Of the remaining terms, two are added
      // before the last addition and one after it.
      const auto gamma = [&](int lag) {
        const int count = (times - lag) * replicas;
        const auto product = [&](int i) { return x.data()[i] * x.data()[i + lag * replicas]; };
        double four[4] = {}, pair[2];
        int i = 0;
        for (; i < count / 4 * 4; ++i) four[i % 4] += product(i);
        for (const int k : {0, 1}) pair[k] = four[k] + four[k + 2];
        if (i + 2 <= count) {
          for (const int k : {0, 1}) pair[k] += product(i++);
        }
        double sum = pair[0] + pair[1];
        if (i < count) sum += product(i);
        return sum / count;
      };
      const Eigen::ArrayXd rho = autocorrelation(series, times);
      REQUIRE(rho.size() == times);
      for (int lag = 0; lag < times; ++lag) CHECK(rho[lag] == gamma(lag) / gamma(0));
    }
  }
}

TEST_CASE("a long AR(1) series gives its tau within the stated error") {
  test::Dice dice(7);
  const double a = GENERATE(0.0, 0.3, 0.8, 0.98);
  const GammaResult g = gamma_method(ar1(a, 20000, 16, dice));
  INFO("tau " << format_value(g.tau) << ", exact " << tau_of(a));
  CHECK(std::abs(g.tau.value - tau_of(a)) < 4 * g.tau.error + 0.01 * tau_of(a));
  CHECK(g.tau.error < 0.08 * tau_of(a));
  CHECK(static_cast<double>(g.window) < 12 * tau_of(a) + 5);
  CHECK(g.variance == Approx(1.0).margin(6 * std::sqrt(2 * tau_of(a) / 320000)));
  CHECK(g.replica_q > 1e-4);
}

TEST_CASE("tau does not depend on scale, offset or order of replicas") {
  const std::string broken = oracle::counterexample([] {
    test::Dice dice(*rc::gen::arbitrary<std::uint64_t>());
    const RealSeries x = ar1(0.6, 200, 3, dice);
    const double scale = *rc::gen::inRange(1, 1000) / 10.0;
    RealSeries y = scale * x + *rc::gen::inRange(-1000, 1000);
    y.col(0).swap(y.col(2));
    const GammaResult gx = gamma_method(x), gy = gamma_method(y);
    RC_ASSERT(std::abs(gx.tau.value / gy.tau.value - 1) < 1e-8);
    RC_ASSERT(std::abs(gx.mean.error * scale / gy.mean.error - 1) < 1e-8);
    RC_ASSERT(gx.window == gy.window);
  });
  CHECK(broken == "");
}

TEST_CASE("a constant series is white and exact, an alternating one is not negative") {
  const GammaResult constant = gamma_method(RealSeries::Constant(50, 2, 0.1));
  CHECK(constant.tau.value == 0.5);
  CHECK(constant.mean.value == 0.1);
  CHECK(constant.mean.error == 0);
  RealSeries alternating(50, 1);
  for (Eigen::Index t = 0; t < 50; ++t) alternating(t, 0) = t % 2 == 0 ? 1 : -1;
  const GammaResult g = gamma_method(alternating);
  CHECK(g.tau.value > 0);
  CHECK(g.mean.error > 0);
}

TEST_CASE("a window that does not close within half the series is reported") {
  test::Dice dice(8);
  CHECK_FALSE(gamma_method(ar1(0.995, 100, 64, dice)).window_found);
  CHECK(gamma_method(ar1(0.5, 100, 64, dice)).window_found);
}

TEST_CASE("replicas with different means are detected") {
  test::Dice dice(9);
  RealSeries x = ar1(0.5, 2000, 8, dice);
  CHECK(gamma_method(x).replica_q > 1e-3);
  x.col(3) += 1;
  CHECK(gamma_method(x).replica_q < 1e-6);
}

TEST_CASE("rho(t) of AR(1)") {
  test::Dice dice(13);
  const Eigen::ArrayXd rho = autocorrelation(ar1(0.8, 20000, 16, dice), 10);
  CHECK(rho.size() == 11);
  CHECK(rho[0] == 1);
  for (Eigen::Index t = 1; t <= 10; ++t) {
    CHECK(rho[t] == Approx(std::pow(0.8, static_cast<double>(t))).margin(0.02));
  }
}

#include "analysis/series/equilibrium_time.hpp"

#include <cmath>

#include "tests/analysis/synthetic.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

constexpr Eigen::Index kSystems = 32;

Eigen::ArrayXd grid() { return Eigen::exp(Eigen::ArrayXd::LinSpaced(160, 0, std::log(1000.0))); }

// Relaxation from `start` to 0 with tau = 20, with white noise.
Eigen::ArrayXXd relaxing(test::Dice& dice, const Eigen::ArrayXd& x, double start, double noise) {
  Eigen::ArrayXXd rows(kSystems, x.size());
  for (Eigen::Index s = 0; s < kSystems; ++s) {
    rows.row(s) = (start * (-x / 20).exp() + noise * dice.normals(x.size())).transpose();
  }
  return rows;
}

}  // namespace

TEST_CASE("equilibrium: reached when the difference falls below its errors") {
  const Eigen::ArrayXd x = grid();
  const double noise = 0.1;
  // The first window whose mean difference, 2 <exp(-x/20)>, is below two of its errors.
  Eigen::Index expected = 0;
  for (;; ++expected) {
    Eigen::Index end = expected;
    while (x[end] <= 2 * x[expected]) ++end;
    const auto count = static_cast<double>(end - expected);
    const double difference = 2 * (-x.segment(expected, end - expected) / 20).exp().mean();
    if (difference < 2 * noise * std::sqrt(2.0 / (count * kSystems))) break;
  }
  test::Dice dice(41);
  std::vector<double> times, errors;
  for (int i = 0; i < 40; ++i) {
    const auto found =
        equilibrium_time(x, relaxing(dice, x, 1, noise), relaxing(dice, x, -1, noise));
    REQUIRE(found.reached);
    CHECK(found.last < found.time.value);
    times.push_back(found.time.value);
    errors.push_back(found.time.error);
  }
  // First passages of noisy curves come slightly earlier than that of the mean curve.
  const Value mean = mean_and_error(times);
  CHECK(mean.value == Approx(x[expected]).epsilon(0.2));
  // Bootstrapped first passages scatter more than the times, by up to a factor of two here.
  const double scatter = mean.error * std::sqrt(static_cast<double>(times.size()));
  CHECK(mean_and_error(errors).value > 0.8 * scatter);
  CHECK(mean_and_error(errors).value < 2.5 * scatter);
}

TEST_CASE("equilibrium: at once if nothing relaxes, never if the halves stay apart") {
  test::Dice dice(42);
  const Eigen::ArrayXd x = grid();
  int at_once = 0;
  for (int i = 0; i < 200; ++i) {
    const auto found = equilibrium_time(x, relaxing(dice, x, 0, 1), relaxing(dice, x, 0, 1));
    at_once += found.reached && found.time.value == x[0];
  }
  // Binomial(200, 0.95): 3.5 standard deviations, false alarm 5e-4.
  CHECK(std::abs(at_once - 190) < 11);
  const auto never = equilibrium_time(x, relaxing(dice, x, 0, 0.1) + 1, relaxing(dice, x, 0, 0.1));
  CHECK(!never.reached);
  CHECK(std::isinf(never.time.value));
  CHECK(never.last > 400);
  CHECK(never.last <= 500);
}

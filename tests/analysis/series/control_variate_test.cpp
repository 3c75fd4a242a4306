#include "analysis/series/control_variate.hpp"

#include <cmath>

#include "src/base/error.hpp"
#include "tests/analysis/synthetic.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using Eigen::ArrayXXd;
using Eigen::VectorXd;

namespace {

// Two observables, with true means 2 and 5, that depend on two controls with known means 30 and
// 200.
struct Sample {
  ArrayXXd y;
  ControlVariates controls;
};

Sample make_sample(Eigen::Index graphs, double residual, test::Dice& dice) {
  Sample s{ArrayXXd(graphs, 2), {ArrayXXd(graphs, 2), VectorXd(2)}};
  s.controls.mu << 30, 200;
  for (Eigen::Index g = 0; g < graphs; ++g) {
    const double a = dice.normal(), b = 0.6 * a + 0.8 * dice.normal();
    s.controls.x.row(g) << 30 + 5 * a, 200 + 40 * b;
    s.y.row(g) << 2 + 0.1 * a - 0.05 * b + residual * dice.normal(),
        5 + 0.3 * a + residual * dice.normal();
  }
  return s;
}

const VectorFunction kRatio = [](const VectorXd& mean) {
  return VectorXd::Constant(1, mean[0] / (mean[1] * mean[1])).eval();
};

}  // namespace

TEST_CASE("observables that are functions of the controls are exact") {
  test::Dice dice(71);
  const Sample s = make_sample(20, 0, dice);
  const VectorXd mean = controlled_mean(s.y, s.controls);
  CHECK(mean[0] == Approx(2).epsilon(1e-10));
  CHECK(mean[1] == Approx(5).epsilon(1e-10));
}

TEST_CASE("control variates reduce the variance and keep mean and coverage") {
  test::Dice dice(72);
  test::Coverage corrected(37), plain(39);
  double square_corrected = 0, square_plain = 0;
  for (int i = 0; i < 2000; ++i) {
    const Sample s = make_sample(40, 0.05, dice);
    const Value with = estimate(jackknife_controlled(0, s.y, s.controls, kRatio)[0]);
    const Value without = estimate(jackknife_controlled(0, s.y, {}, kRatio)[0]);
    corrected.add(with, 2.0 / 25);
    plain.add(without, 2.0 / 25);
    square_corrected += std::pow(with.value - 2.0 / 25, 2);
    square_plain += std::pow(without.value - 2.0 / 25, 2);
  }
  CHECK_COVERAGE(corrected);
  CHECK_COVERAGE(plain);
  // Standard deviations: noise 0.05, parts explained by the controls 0.08 and 0.3. The error falls
  // by a factor of more than 1.4.
  CHECK(square_plain > 2 * square_corrected);
}

TEST_CASE("useless controls cost little variance and cause no bias") {
  test::Dice dice(73);
  test::Coverage coverage(47);
  double with_square = 0, without_square = 0;
  for (int i = 0; i < 2000; ++i) {
    Sample s = make_sample(50, 0.05, dice);
    for (Eigen::Index g = 0; g < 50; ++g) s.y.row(g) = dice.normals(2).transpose();
    const VectorXd with = controlled_mean(s.y, s.controls);
    with_square += with[0] * with[0];
    without_square += std::pow(s.y.col(0).mean(), 2);
    const VectorFunction first = [](const VectorXd& m) { return m.head(1).eval(); };
    coverage.add(estimate(jackknife_controlled(0, s.y, s.controls, first)[0]), 0);
  }
  // Expected for n = 50 graphs and c = 2 controls: (n - 2)/(n - c - 2) = 1.043.
  CHECK(with_square / without_square == Approx(1.043).margin(0.04));
  CHECK_COVERAGE(coverage);
}

TEST_CASE("useless controls are rejected: 16 graphs keep the plain value and its error") {
  test::Dice dice(77);
  int taken = 0;
  constexpr int studies = 2000;
  double with_square = 0, without_square = 0;
  for (int i = 0; i < studies; ++i) {
    Sample s = make_sample(16, 0.05, dice);
    for (Eigen::Index g = 0; g < 16; ++g) {
      s.y.row(g) << 2 + 0.1 * dice.normal(), 5 + 0.1 * dice.normal();
    }
    const Jackknifed tested = jackknife_controlled(0, s.y, s.controls, kRatio)[0];
    const Jackknifed plain = jackknife_means(0, s.y, kRatio)[0];
    const Jackknifed controlled = jackknife_with_controls(0, s.y, s.controls, kRatio)[0];
    const bool help = controls_help(plain, controlled, s.controls);
    taken += help ? 1 : 0;
    CHECK(tested.value == (help ? controlled : plain).value);
    CHECK(estimate(tested).error <= estimate(plain).error);
    with_square += std::pow(estimate(tested).value - 2.0 / 25, 2);
    without_square += std::pow(estimate(plain).value - 2.0 / 25, 2);
  }
  // The level of the test is 1%. The limit is 4 standard deviations above the mean.
  CHECK(taken <= 20 + 4 * std::sqrt(20.0));
  CHECK(with_square / without_square < 1.02);  // 1.17 without a test
}

TEST_CASE("controls are accepted only for the numbers whose spread they explain") {
  test::Dice dice(78);
  int taken = 0;
  constexpr int studies = 200;
  for (int i = 0; i < studies; ++i) {
    Sample s = make_sample(32, 0.05, dice);
    for (Eigen::Index g = 0; g < 32; ++g) s.y(g, 0) = dice.normal();  // not explained
    const VectorFunction both = [](const VectorXd& mean) { return mean; };
    const auto tested = jackknife_controlled(0, s.y, s.controls, both);
    const auto controlled = jackknife_with_controls(0, s.y, s.controls, both);
    const bool first = tested[0].value == controlled[0].value;
    taken += !first && tested[1].value == controlled[1].value ? 1 : 0;
  }
  CHECK(taken >= 0.95 * studies);
  // A number from too few graphs, and a number without spread.
  const Sample few = make_sample(8, 0.01, dice);
  CHECK(jackknife_controlled(0, few.y, few.controls, kRatio)[0].value ==
        jackknife_means(0, few.y, kRatio)[0].value);
  Sample still = make_sample(32, 0.05, dice);
  still.y.setConstant(2);
  CHECK(estimate(jackknife_controlled(0, still.y, still.controls, kRatio)[0]).error == 0);
}

TEST_CASE("constant, repeated, absent and too many controls are ignored") {
  test::Dice dice(74);
  Sample s = make_sample(30, 0.05, dice);
  const VectorXd plain = s.y.colwise().mean().transpose();
  const VectorXd both = controlled_mean(s.y, s.controls);

  Sample constant = s;
  constant.controls.x.col(0).setConstant(30);
  constant.controls.x.col(1).setConstant(200);
  CHECK(controlled_mean(constant.y, constant.controls).isApprox(plain, 1e-14));

  Sample repeated = s;  // the third column is twice the first
  repeated.controls.x.conservativeResize(30, 3);
  repeated.controls.x.col(2) = 2 * s.controls.x.col(0);
  repeated.controls.mu.conservativeResize(3);
  repeated.controls.mu[2] = 60;
  CHECK(controlled_mean(repeated.y, repeated.controls).isApprox(both, 1e-9));

  CHECK(controlled_mean(s.y, {}).isApprox(plain, 1e-14));
  const Sample few = make_sample(8, 0.05, dice);
  const VectorXd few_plain = few.y.colwise().mean().transpose();
  CHECK(controlled_mean(few.y, few.controls).isApprox(few_plain, 1e-14));

  s.controls.mu.resize(1);
  CHECK_THROWS_AS(controlled_mean(s.y, s.controls), Error);
}

TEST_CASE("leave-one-out means equal the means of the other graphs") {
  test::Dice dice(76);
  for (const bool alone : {false, true}) {
    Sample s = make_sample(30, 0.05, dice);
    // The second control varies by one graph only: without that graph it is constant.
    if (alone) s.controls.x.col(1).setConstant(200);
    if (alone) s.controls.x(7, 1) = 230;
    const ArrayXXd left = leave_one_out_controlled_means(s.y, s.controls);
    for (Eigen::Index i = 0; i < 30; ++i) {
      Sample rest{ArrayXXd(29, 2), {ArrayXXd(29, 2), s.controls.mu}};
      for (Eigen::Index g = 0, r = 0; g < 30; ++g) {
        if (g == i) continue;
        rest.y.row(r) = s.y.row(g);
        rest.controls.x.row(r++) = s.controls.x.row(g);
      }
      const VectorXd expected = controlled_mean(rest.y, rest.controls);
      CHECK(left(i, 0) == Approx(expected[0]).epsilon(1e-12));
      CHECK(left(i, 1) == Approx(expected[1]).epsilon(1e-12));
    }
  }
}

// For example, rule `add` at p = 1 adds the same number of bonds to every graph. The leave-one-out
// values with and without controls then differ only by rounding, so either error may be smaller.
TEST_CASE("controls that do not vary do not help") {
  test::Dice dice(77);
  const auto first = [](const VectorXd& mean) {
    VectorXd value(1);
    value << mean[0];
    return value;
  };
  for (int repeat = 0; repeat < 20; ++repeat) {
    Sample s = make_sample(30, 0.05, dice);
    s.controls.x.col(0).setConstant(30);
    s.controls.x.col(1).setConstant(200);
    const Jackknifed plain = jackknife_means(0, s.y, first).front();
    Jackknifed narrower = plain;
    narrower.left_out.at(0) = plain.value + 0.9 * (plain.left_out.at(0) - plain.value);
    CHECK_FALSE(controls_help(plain, narrower, s.controls));
    CHECK(estimate(jackknife_controlled(0, s.y, s.controls, first).front()).value ==
          estimate(plain).value);
  }
}

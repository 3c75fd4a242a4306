#include "analysis/scaling/collapse.hpp"

#include <cmath>

#include "analysis/scaling/simplex.hpp"
#include "tests/analysis/transition.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

// A(T, N) = N^c f((T - 2.5) N^0.5) with independent noise.
std::vector<CollapseData> make_data(double c, double error, test::Dice& dice) {
  std::vector<CollapseData> data;
  for (const double sites : {256.0, 1024.0, 4096.0, 16384.0}) {
    const double half = 1.5 / std::sqrt(sites);
    CollapseData d{sites, temperature_grid(2.5 - half, 2.5 + half, 13), {}, {}};
    const Eigen::ArrayXd x = (d.temperature - 2.5) * std::sqrt(sites);
    const double scale = std::pow(sites, c);
    d.value = scale * (1 / (1 + x.exp()) + 0.1 + error * dice.normals(13));
    d.error = Eigen::ArrayXd::Constant(13, scale * error);
    data.push_back(d);
  }
  return data;
}

}  // namespace

TEST_CASE("the simplex finds the bottom of Rosenbrock's valley") {
  const auto rosenbrock = [](const Eigen::VectorXd& x) {
    return 100 * std::pow(x[1] - x[0] * x[0], 2) + std::pow(1 - x[0], 2);
  };
  const Minimum m = minimise(rosenbrock, Eigen::Vector2d(-1.2, 1), Eigen::Vector2d(0.5, 0.5));
  CHECK(m.converged);
  CHECK(m.x[0] == Approx(1).epsilon(1e-4));
  CHECK(m.x[1] == Approx(1).epsilon(1e-4));
}

TEST_CASE("quality is about 1 at the truth and large elsewhere") {
  test::Dice dice(121);
  const auto data = make_data(-0.5, 0.005, dice);
  const double at_truth = collapse_quality(data, {2.5, 0.5, -0.5});
  CHECK(at_truth > 0.5);
  CHECK(at_truth < 1.8);
  CHECK(collapse_quality(data, {2.5, 0.5, -0.45}) > 5 * at_truth);
  CHECK(collapse_quality(data, {2.51, 0.5, -0.5}) > 5 * at_truth);
  CHECK(collapse_quality(data, {2.5, 0.7, -0.5}) > 3 * at_truth);
  CHECK(std::isinf(collapse_quality(data, {3.5, 0.5, -0.5})));  // nothing overlaps
}

TEST_CASE("free exponents are found, the S + 1 rule gives generous errors") {
  test::Dice dice(122);
  int inside = 0, total = 0;
  for (int i = 0; i < 20; ++i) {
    const Collapse fit = fit_collapse(make_data(-0.5, 0.005, dice), {2.503, 0.45, -0.45});
    REQUIRE(fit.converged);
    CHECK(fit.quality < 1.8);
    CHECK(fit.tc.value == Approx(2.5).margin(1e-3));
    CHECK(fit.y.value == Approx(0.5).margin(0.03));
    CHECK(fit.c.value == Approx(-0.5).margin(0.01));
    for (const auto& [v, truth] :
         {std::pair{fit.tc, 2.5}, std::pair{fit.y, 0.5}, std::pair{fit.c, -0.5}}) {
      ++total;
      if (std::abs(v.value - truth) <= v.error) ++inside;
    }
  }
  CHECK(inside >= 0.68 * total);
}

TEST_CASE("fixed exponents stay fixed") {
  test::Dice dice(123);
  CollapseOptions options;
  options.free_c = false;
  const Collapse fit = fit_collapse(make_data(0, 0.005, dice), {2.503, 0.45, 0}, options);
  REQUIRE(fit.converged);
  CHECK(fit.c.value == 0);
  CHECK(fit.c.error == 0);
  CHECK(fit.y.value == Approx(0.5).margin(0.03));
}

TEST_CASE("reweighted curves: jackknife errors of Tc and y hold the truth") {
  test::Dice dice(124);
  test::TransitionModel model;
  CollapseOptions options;
  options.free_c = false;
  test::Coverage tc, y;
  for (int i = 0; i < 100; ++i) {
    std::vector<JackknifeCurve> curves;
    for (int s = 0; s < 3; ++s) {
      const double sites = 512 << (2 * s), half = 1.5 / std::sqrt(sites);
      curves.push_back(test::binder_curve(model, s, sites, 20,
                                          temperature_grid(2.5 - half, 2.5 + half, 11), dice));
    }
    const Collapse fit = fit_collapse(curves, {2.5, 0.5, 0}, options);
    REQUIRE(fit.converged);
    tc.add(fit.tc, 2.5);
    y.add(fit.y, 0.5);
  }
  CHECK_COVERAGE(tc);
  CHECK_COVERAGE(y);
}

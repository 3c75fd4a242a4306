#include "analysis/scaling/collapse.hpp"

#include <cmath>

#include "analysis/scaling/simplex.hpp"
#include "tests/analysis/transition.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

TEST_CASE("the simplex finds the bottom of Rosenbrock's valley") {
  const auto rosenbrock = [](const Eigen::VectorXd& x) {
    return 100 * std::pow(x[1] - x[0] * x[0], 2) + std::pow(1 - x[0], 2);
  };
  const Minimum m = minimise(rosenbrock, Eigen::Vector2d(-1.2, 1), Eigen::Vector2d(0.5, 0.5));
  CHECK(m.converged);
  CHECK(m.x[0] == Approx(1).epsilon(1e-4));
  CHECK(m.x[1] == Approx(1).epsilon(1e-4));
}

TEST_CASE("reweighted curves: jackknife errors of Tc and y cover the true values") {
  test::Dice dice(124);
  test::TransitionModel model;
  test::Coverage tc, y;
  for (int i = 0; i < 100; ++i) {
    std::vector<JackknifeCurve> curves;
    for (int s = 0; s < 3; ++s) {
      const double sites = 512 << (2 * s), half = 1.5 / std::sqrt(sites);
      curves.push_back(test::binder_curve(model, s, sites, 20,
                                          temperature_grid(2.5 - half, 2.5 + half, 11), dice));
    }
    const Collapse fit = fit_collapse(curves, 2.5, 0.5, 100);
    REQUIRE(fit.converged);
    tc.add(fit.tc, 2.5);
    y.add(fit.y, 0.5);
  }
  CHECK_COVERAGE(tc);
  CHECK_COVERAGE(y);
}

#include "analysis/scaling/crossing.hpp"

#include <cmath>

#include "src/base/error.hpp"
#include "tests/analysis/transition.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using Eigen::ArrayXd;
using test::TransitionModel;

TEST_CASE("a root is found where the curve falls, not where it rises") {
  const ArrayXd x = ArrayXd::LinSpaced(21, 0, 4);
  int roots = 0;
  const auto root = falling_root(x, (1.37 - x).eval(), {}, &roots);
  REQUIRE(root);
  CHECK(*root == Approx(1.37).epsilon(1e-10));
  CHECK(roots == 1);
  CHECK_FALSE(falling_root(x, (x - 1.37).eval()));
  CHECK_FALSE(falling_root(x, (x + 1).eval()));
  CHECK_FALSE(falling_root(x, (-1 - x).eval()));
}

TEST_CASE("several roots: the one with the largest separation, or the nearest, is chosen") {
  // Falls through zero at 1 and 3, rises at 1.5. The larger area lies left of the root at 3.
  const ArrayXd x = ArrayXd::LinSpaced(401, 0, 4);
  const ArrayXd y = -(x - 1) * (x - 1.5) * (x - 3);
  int roots = 0;
  CHECK(*falling_root(x, y, {}, &roots) == Approx(3).epsilon(1e-6));
  CHECK(roots == 2);
  CHECK(*falling_root(x, y, 0.9) == Approx(1).epsilon(1e-6));
}

TEST_CASE("noise that a control variate removes does not enter the noise of a curve") {
  // The graphs differ by noise only, and the control is that noise.
  constexpr Eigen::Index graphs = 20;
  test::Dice dice(12);
  MomentTable table, noise;
  table.sites = noise.sites = 100;
  table.temperature = noise.temperature = temperature_grid(2.4, 2.6, 3);
  ControlVariates control{Eigen::ArrayXXd(graphs, 1), Eigen::VectorXd::Zero(1)};
  for (Eigen::Index g = 0; g < graphs; ++g) control.x(g, 0) = dice.normal();
  control.noise = control.x;
  for (std::size_t m = 0; m < table.table.size(); ++m) {
    noise.table[m] = 0.01 * control.x.replicate(1, 3);
    table.table[m] = 0.5 + noise.table[m];
  }
  const MomentFunction m2 = [](const Moments& m, double, double) { return m(kM2); };
  const auto spread = [&](const ControlVariates& known) {
    const JackknifeCurve curve = changed_curve(0, table, noise, m2, known);
    return (curve.left_out.rowwise() - curve.value.transpose()).abs().maxCoeff();
  };
  CHECK(spread(control) < 1e-12);
  control.noise.resize(0, 0);
  CHECK(spread(control) > 1e-4);
}

TEST_CASE("controls are tested at each temperature, or once for a whole curve") {
  // The control explains m^2 at the three lower temperatures of five.
  constexpr Eigen::Index graphs = 24;
  test::Dice dice(14);
  MomentTable table;
  table.sites = 100;
  table.temperature = temperature_grid(2.4, 2.8, 5);
  ControlVariates control{Eigen::ArrayXXd(graphs, 1), Eigen::VectorXd::Zero(1)};
  for (auto& moment : table.table) moment = Eigen::ArrayXXd::Constant(graphs, 5, 0.5);
  for (Eigen::Index g = 0; g < graphs; ++g) {
    control.x(g, 0) = dice.normal();
    for (Eigen::Index k = 0; k < 5; ++k) {
      const double explained = k < 3 ? control.x(g, 0) : 0;
      table.table[kM2](g, k) += 0.02 * explained + 0.01 * dice.normal();
    }
  }
  const MomentFunction m2 = [](const Moments& m, double, double) { return m(kM2); };
  CHECK(controls_taken(table, m2, control, ControlTest::temperature) ==
        std::vector<bool>{true, true, true, false, false});
  CHECK(controls_taken(table, m2, control, ControlTest::curve) == std::vector<bool>(5, true));
  const JackknifeCurve plain = curve_over_graphs(0, table, m2);
  const JackknifeCurve tested = curve_over_graphs(0, table, m2, control, ControlTest::temperature);
  for (const Eigen::Index k : {0, 1, 2}) CHECK(tested.at(k).error < 0.7 * plain.at(k).error);
  for (const Eigen::Index k : {3, 4}) {
    CHECK(tested.value[k] == plain.value[k]);
    CHECK(tested.at(k).error == plain.at(k).error);
  }
  // The known part of the noise counts only at temperatures where the control is accepted.
  control.noise = control.x;
  MomentTable noise = table;
  for (auto& moment : noise.table) moment.setZero();
  const JackknifeCurve changed =
      changed_curve(0, table, noise, m2, control, ControlTest::temperature);
  CHECK((changed.left_out.col(0) - changed.value[0]).abs().maxCoeff() > 0);
  CHECK((changed.left_out.col(4) - changed.value[4]).abs().maxCoeff() == 0);
}

TEST_CASE("interpolation is exact for cubics") {
  ArrayXd x(6);
  x << 0, 0.3, 1, 1.2, 2, 2.5;
  const ArrayXd y = 1 + x - 2 * x.square() + 0.5 * x.cube();
  for (const double at : {0.1, 0.7, 1.1, 2.4}) {
    CHECK(interpolate(x, y, at) ==
          Approx(1 + at - 2 * at * at + 0.5 * at * at * at).epsilon(1e-10));
  }
}

TEST_CASE("a crossing outside the window, or at its border, is reported as such") {
  const TransitionModel model;
  test::Dice dice(81);
  const auto curves = [&](double low, double high) {
    return std::vector<JackknifeCurve>{
        test::binder_curve(model, 0, 1024, 30, temperature_grid(low, high, 9), dice),
        test::binder_curve(model, 1, 4096, 30, temperature_grid(low, high, 9), dice)};
  };
  const auto far = curves(2.55, 2.6), right = curves(2.48, 2.52);
  CHECK(find_crossing(far[0], far[1]).status == CrossingStatus::none);
  CHECK(std::isnan(find_crossing(far[0], far[1]).temperature.value));
  const Crossing good = find_crossing(right[1], right[0]);  // any order
  CHECK(good.status == CrossingStatus::found);
  CHECK(good.smaller == 1024);
  CHECK(good.larger == 4096);

  // The window ends at the crossing: some leave-one-out curves cross beyond it.
  JackknifeCurve a = right[0], b = right[1];
  const double end = good.temperature.value + 1e-7;
  for (JackknifeCurve* c : {&a, &b}) {
    JackknifeCurve cut = *c;
    cut.temperature = temperature_grid(2.48, end, 9);
    for (Eigen::Index k = 0; k < 9; ++k) {
      cut.value[k] = interpolate(c->temperature, c->value, cut.temperature[k]);
      for (Eigen::Index g = 0; g < c->left_out.rows(); ++g) {
        cut.left_out(g, k) =
            interpolate(c->temperature, c->left_out.row(g).transpose(), cut.temperature[k]);
      }
    }
    *c = cut;
  }
  CHECK(find_crossing(a, b).status == CrossingStatus::unstable);

  JackknifeCurve clash = b;
  clash.sample = a.sample;
  CHECK_THROWS_AS(find_crossing(a, clash), Error);
}

TEST_CASE("curves on different temperatures cross where they overlap") {
  TransitionModel model;
  model.spread = model.noise = 0;
  test::Dice dice(82);
  const auto small = test::binder_curve(model, 0, 1024, 2, temperature_grid(2.4, 2.56, 17), dice);
  const auto large = test::binder_curve(model, 1, 4096, 2, temperature_grid(2.46, 2.6, 29), dice);
  const Crossing c = find_crossing(small, large);
  REQUIRE(c.status == CrossingStatus::found);
  CHECK(c.temperature.value == Approx(2.5).epsilon(1e-6));
  CHECK(c.height.value == Approx(1 - 2.19 / 3).epsilon(1e-4));
}

TEST_CASE("crossings of U and of sqrt(N) m^2: intervals cover Tc at the nominal rate") {
  const TransitionModel model;
  test::Dice dice(83);
  const ArrayXd grid = temperature_grid(2.46, 2.54, 9);
  test::Coverage by_binder(60), by_m2(60);  // two samples of 40: between 39 and 78
  for (int i = 0; i < 2000; ++i) {
    const auto small = test::make_table(model, 1024, 40, grid, dice),
               large = test::make_table(model, 4096, 40, grid, dice);
    const Crossing u = find_crossing(curve_over_graphs(0, small, binder_at),
                                     curve_over_graphs(1, large, binder_at));
    const Crossing m = find_crossing(curve_over_graphs(0, small, test::scaled_m2_of),
                                     curve_over_graphs(1, large, test::scaled_m2_of));
    REQUIRE(u.status == CrossingStatus::found);
    REQUIRE(m.status == CrossingStatus::found);
    by_binder.add(estimate(u.temperature), model.tc);
    by_m2.add(estimate(m.temperature), model.tc);
  }
  CHECK_COVERAGE(by_binder);
  CHECK_COVERAGE(by_m2);
}

TEST_CASE("crossings that share a size: jackknife covariance against repetitions") {
  // The averaged jackknife covariance of T(1,2) and T(2,3) against the spread of 600 repetitions.
  // The correlation is known to 4%; 4 standard deviations are allowed.
  const TransitionModel model;
  test::Dice dice(84);
  const ArrayXd grid = temperature_grid(2.45, 2.55, 9);
  const int repetitions = 600;
  Eigen::ArrayXXd found(repetitions, 2);
  Eigen::Matrix2d stated = Eigen::Matrix2d::Zero();
  for (int i = 0; i < repetitions; ++i) {
    std::vector<JackknifeCurve> curves;
    for (int s = 0; s < 3; ++s) {
      curves.push_back(test::binder_curve(model, s, 512 << (2 * s), 30, grid, dice));
    }
    const auto crossings = consecutive_crossings(curves);
    const Estimates e = estimates({crossings[0].temperature, crossings[1].temperature});
    found.row(i) = e.value.transpose().array();
    stated += e.covariance / repetitions;
  }
  const Eigen::ArrayXXd centred = found.rowwise() - found.colwise().mean();
  const Eigen::Matrix2d seen = centred.matrix().transpose() * centred.matrix() / repetitions;
  const auto correlation = [](const Eigen::Matrix2d& c) {
    return c(0, 1) / std::sqrt(c(0, 0) * c(1, 1));
  };
  INFO("stated " << correlation(stated) << ", seen " << correlation(seen));
  CHECK(std::abs(correlation(stated) - correlation(seen)) < 0.16);
  CHECK(correlation(seen) < -0.15);
  CHECK(stated(0, 0) == Approx(seen(0, 0)).epsilon(0.25));
  CHECK(stated(1, 1) == Approx(seen(1, 1)).epsilon(0.25));
}

TEST_CASE("thermal noise of the graphs, from half-differences, propagates to the crossing") {
  // The graphs differ only by known independent noise. The squared changes of the crossing by the
  // noise of each graph sum to the jackknife variance. Both have 19 degrees of freedom: a ratio
  // above 3 or below 1/3 has a probability below 1e-5.
  TransitionModel model;
  model.spread = 0;
  test::Dice dice(4711);
  const auto grid = temperature_grid(2.4, 2.6, 11);
  std::vector<JackknifeCurve> usual, changed;
  for (int s = 0; s < 2; ++s) {
    const double sites = 256 << (2 * s);
    const MomentTable graphs = test::make_table(model, sites, 40, grid, dice);
    // (a - b)/sqrt(2) of two more such graphs has the same noise.
    const MomentTable a = test::make_table(model, sites, 40, grid, dice);
    MomentTable noise = test::make_table(model, sites, 40, grid, dice);
    for (std::size_t m = 0; m < noise.table.size(); ++m) {
      noise.table[m] = (a.table[m] - noise.table[m]) / std::sqrt(2.0);
    }
    usual.push_back(curve_over_graphs(s, graphs, binder_at));
    changed.push_back(changed_curve(s, graphs, noise, binder_at));
    CHECK((changed.back().value - usual.back().value).abs().maxCoeff() < 1e-12);
  }
  const double variance =
      std::pow(estimate(find_crossing(usual[0], usual[1]).temperature).error, 2);
  const Jackknifed& noisy = find_crossing(changed[0], changed[1]).temperature;
  double thermal = 0;
  for (const auto& [sample, values] : noisy.left_out) {
    thermal += (values - noisy.value).square().sum();
  }
  CHECK(thermal > variance / 3);
  CHECK(thermal < variance * 3);
}

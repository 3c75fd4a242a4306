#include "analysis/extrapolation.hpp"

#include <cmath>
#include <string>

#include "src/base/error.hpp"
#include "tests/analysis/transition.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using test::TransitionModel;

namespace {

std::vector<Crossing> both_crossings(const TransitionModel& model, int sizes, Eigen::Index graphs,
                                     test::Dice& dice) {
  std::vector<JackknifeCurve> u, m2;
  for (int s = 0; s < sizes; ++s) {
    const double sites = 256 << (2 * s);
    const double half = 1.6 / std::sqrt(sites);
    const auto grid = temperature_grid(model.tc - half - 0.01, model.tc + half + 0.01, 11);
    const MomentTable table = test::make_table(model, sites, graphs, grid, dice);
    u.push_back(curve_over_graphs(s, table, binder_at));
    m2.push_back(curve_over_graphs(s, table, scaled_m2_at));
  }
  std::vector<Crossing> all = consecutive_crossings(u, 0);
  for (const Crossing& c : consecutive_crossings(m2, 1)) all.push_back(c);
  return all;
}

}  // namespace

TEST_CASE("mean-field crossings shift as 1/sqrt(N1 N2), heights as N1^-1/2 + N2^-1/2") {
  const ScalingExponents e = mean_field_exponents();
  CHECK(crossing_shift(1024, 4096, e) == Approx(1 / std::sqrt(1024.0 * 4096.0)));
  CHECK(crossing_height_shift(1024, 4096, e) == Approx(1 / 32.0 + 1 / 64.0));
}

TEST_CASE("regular exponents: 2D shifts fall as L^-11/4, one dimension is refused") {
  const ScalingExponents e = regular_exponents(2);
  const double ratio = crossing_shift(32 * 32, 64 * 64, e) / crossing_shift(64 * 64, 128 * 128, e);
  CHECK(ratio == Approx(std::pow(2.0, 2.75)));
  CHECK(regular_exponents(3).y == Approx(1 / (3 * 0.629912)));
  CHECK_THROWS_AS(regular_exponents(1), Error);
}

TEST_CASE("noise-free crossings with a correction extrapolate to Tc and U*") {
  TransitionModel model;
  model.correction = 2;
  model.spread = 0;
  model.noise = 1e-6;  // a covariance is needed
  test::Dice dice(101);
  const auto crossings = both_crossings(model, 5, 6, dice);
  std::vector<Crossing> u(crossings.begin(), crossings.begin() + 4);
  // The form is the leading term: the largest pair already lies within 1e-4 of Tc, and what is
  // left after the fit of the three largest is smaller by a factor of at least ten.
  std::vector<Crossing> large(u.begin() + 1, u.end());
  const double before = std::abs(large.back().temperature.value - model.tc);
  const Extrapolation t = extrapolate_temperature(large, mean_field_exponents());
  REQUIRE(t.ok);
  double best = 1;
  for (const CrossingFit& f : t.fits) {
    if (f.form == SizeForm::shifted) {
      best = std::min(best, std::abs(f.fit.parameters[0] - model.tc));
    }
  }
  CHECK(best < 0.1 * before);
  const Extrapolation h = extrapolate_height(u, mean_field_exponents());
  REQUIRE(h.ok);
  CHECK(h.fits.back().form == SizeForm::constant);
  double best_height = 1;
  for (const CrossingFit& f : h.fits) {
    if (f.form == SizeForm::shifted) {
      best_height = std::min(best_height, std::abs(f.fit.parameters[0] - (1 - 2.19 / 3)));
    }
  }
  CHECK(best_height < 2e-3);
}

TEST_CASE("Tc from U and sqrt(N) m^2 together: intervals hold it as often as they say") {
  TransitionModel model;
  model.correction = 1;
  test::Dice dice(102);
  test::Coverage joint(100), binder_only(100);
  int shifted = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto crossings = both_crossings(model, 4, 60, dice);
    const Extrapolation both = extrapolate_temperature(crossings, mean_field_exponents());
    REQUIRE(both.ok);
    joint.add(both.value, model.tc);
    const std::vector<Crossing> u(crossings.begin(), crossings.begin() + 3);
    const Extrapolation alone = extrapolate_temperature(u, mean_field_exponents());
    REQUIRE(alone.ok);
    binder_only.add(alone.value, model.tc);
    if (both.fits[both.chosen].form == SizeForm::shifted) ++shifted;
  }
  INFO("shifted form chosen " << shifted << " times");
  CHECK_COVERAGE(joint);
  CHECK_COVERAGE(binder_only);
  CHECK(shifted > 950);
}

TEST_CASE("crossings that were not found are skipped, one pair gives itself, none gives nothing") {
  const TransitionModel model;
  test::Dice dice(103);
  auto crossings = both_crossings(model, 4, 30, dice);
  crossings.resize(3);  // U only
  crossings[0].status = CrossingStatus::none;
  const Extrapolation two = extrapolate_temperature(crossings, mean_field_exponents());
  REQUIRE(two.ok);
  for (const CrossingFit& f : two.fits) {
    for (const std::size_t i : f.used) CHECK(i > 0);
  }
  crossings[1].status = CrossingStatus::unstable;
  const Extrapolation one = extrapolate_temperature(crossings, mean_field_exponents());
  REQUIRE(one.ok);
  CHECK(one.fits[one.chosen].form == SizeForm::constant);
  CHECK(one.value.value == Approx(estimate(crossings[2].temperature).value));
  CHECK(one.value.error == Approx(estimate(crossings[2].temperature).error));
  CHECK(one.systematic == 0);
  crossings[2].status = CrossingStatus::none;
  CHECK_FALSE(extrapolate_temperature(crossings, mean_field_exponents()).ok);
  CHECK_FALSE(extrapolate_temperature({}, mean_field_exponents()).ok);
}

TEST_CASE("a limit keeps its correlations: a shift against the same sample has none of its error") {
  const TransitionModel model;
  test::Dice dice(104);
  const auto crossings = both_crossings(model, 4, 30, dice);
  const Extrapolation t = extrapolate_temperature(crossings, mean_field_exponents());
  const auto difference =
      derive({t.limit, t.limit}, [](const Eigen::VectorXd& x) { return x[0] - x[1]; });
  CHECK(estimate(difference).error == 0);
  CHECK(t.value.error == Approx(t.fits[t.chosen].fit.parameter(0).error).epsilon(1e-6));
}

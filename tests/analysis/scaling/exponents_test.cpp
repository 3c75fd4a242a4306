#include "analysis/scaling/exponents.hpp"

#include <cmath>

#include "tests/analysis/synthetic.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

const std::vector<double> kP{0.1, 0.001, 0.03, 0.01, 0.003};

double law(double p) { return 1.6 * std::pow(p, 0.55); }

std::vector<Value> noisy(double relative, test::Dice& dice) {
  std::vector<Value> tc;
  for (const double p : kP) {
    const double error = relative * law(p);
    tc.push_back({2.269 + law(p) + error * dice.normal(), error});
  }
  return tc;
}

}  // namespace

TEST_CASE("shifts are sorted by p and share the error of Tc(0)") {
  const Shifts s = shifts({0.1, 0.01}, {{2.8, 0.003}, {2.43, 0.004}}, {2.27, 0.002});
  CHECK(s.p[0] == 0.01);
  CHECK(s[0].value == Approx(0.16));
  CHECK(s[0].error == Approx(std::hypot(0.004, 0.002)));
  CHECK(s.covariance(0, 1) == Approx(4e-6));
}

TEST_CASE("a pure power law is found exactly, locally and globally") {
  test::Dice dice(111);
  const Shifts s = shifts(kP, noisy(1e-12, dice), {2.269, 0});
  const LocalExponents local = local_exponents(s);
  REQUIRE(local.p.size() == 4);
  CHECK(local.p[0] == Approx(std::sqrt(0.001 * 0.003)));
  for (Eigen::Index i = 0; i < 4; ++i) CHECK(local.exponent.value[i] == Approx(0.55).epsilon(1e-8));
  const PowerLaw fit = fit_power_law(s);
  REQUIRE(fit.ok);
  CHECK(fit.exponent.value == Approx(0.55).epsilon(1e-8));
  CHECK(fit.amplitude.value == Approx(1.6).epsilon(1e-8));
  CHECK(fit.dof == 3);
  const auto ranges = fit_power_law_ranges(s);
  CHECK(ranges.size() == 6);  // 5, 2 x 4, 3 x 3
  CHECK(ranges[1].p_last == 0.03);
  CHECK(ranges[2].p_first == 0.003);
}

TEST_CASE("exponents with noise in every Tc and in the common Tc(0): coverage of intervals") {
  test::Dice dice(112);
  test::Coverage local, global, amplitude;
  int poor = 0;
  for (int i = 0; i < 2000; ++i) {
    const Value tc0{2.269 + 2e-4 * dice.normal(), 2e-4};
    const Shifts s = shifts(kP, noisy(0.01, dice), tc0);
    local.add(local_exponents(s).exponent[0], 0.55);
    const PowerLaw fit = fit_power_law(s);
    REQUIRE(fit.ok);
    global.add(fit.exponent, 0.55);
    amplitude.add(fit.amplitude, 1.6);
    if (fit.q < 0.05) ++poor;
  }
  CHECK_COVERAGE(local);
  CHECK_COVERAGE(global);
  CHECK_COVERAGE(amplitude);
  CHECK(std::abs(poor - 100) < 34);  // 3.5 binomial sd
}

TEST_CASE("a shift that is not positive gives no exponent and is reported") {
  const Shifts s = shifts({0.001, 0.01, 0.1}, {{2.26, 0.01}, {2.4, 0.01}, {2.8, 0.01}}, {2.27, 0});
  CHECK_FALSE(fit_power_law(s).ok);
  CHECK(std::isnan(fit_power_law(s).exponent.value));
  const LocalExponents local = local_exponents(s);
  CHECK(std::isnan(local.exponent.value[0]));
  CHECK(std::isnan(local.exponent[0].error));
  CHECK(std::isfinite(local.exponent[1].value));
  CHECK(std::isfinite(local.exponent[1].error));
  CHECK_FALSE(fit_power_law(shifts({0.1}, {{2.8, 0.01}}, {2.27, 0})).ok);
  CHECK(local_exponents(shifts({}, {}, {2.27, 0})).p.size() == 0);
}

TEST_CASE("data that follow no pure power law give a small Q and varying local exponents") {
  std::vector<Value> tc;
  for (const double p : kP) {
    const double shift = 1.6 * std::pow(p, 4.0 / 7) * (1 - 0.8 * std::pow(p, 0.4));
    tc.push_back({2.269 + shift, 0.002 * shift});
  }
  const Shifts s = shifts(kP, tc, {2.269, 0});
  CHECK(fit_power_law(s).q < 1e-3);
  const LocalExponents local = local_exponents(s);
  CHECK(local.exponent.value[0] - local.exponent.value[3] > 5 * local.exponent[3].error);
}

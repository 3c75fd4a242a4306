#include "analysis/series/distributions.hpp"

#include <cmath>
#include <vector>

#include "tests/analysis/synthetic.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/goodness_of_fit.hpp"

using namespace rewise;

TEST_CASE("tail probabilities equal tabulated ones") {
  CHECK(chi_square_q(3.841458820694124, 1) == Approx(0.05).epsilon(1e-10));
  CHECK(chi_square_q(18.307038053275146, 10) == Approx(0.05).epsilon(1e-10));
  CHECK(chi_square_q(-1, 3) == 1);
  CHECK(chi_square_q(5, 0) == 1);
  CHECK(std::isnan(chi_square_q(std::nan(""), 3)));
  CHECK(gamma_q(1, 2) == Approx(std::exp(-2.0)));
  CHECK(normal_cdf(1.959963984540054) == Approx(0.975).epsilon(1e-12));
  CHECK(test::normal_quantile(0.975) == Approx(1.959963984540054).epsilon(1e-12));
  CHECK(student_two_sided(2.228138851964939, 10) == Approx(0.05).epsilon(1e-9));
  CHECK(student_two_sided(-2.228138851964939, 10) == Approx(0.05).epsilon(1e-9));
}

TEST_CASE("Kolmogorov-Smirnov and Anderson-Darling statistics of three numbers by hand") {
  const std::vector<double> z{0.5, -1.0, 0.1};
  // Phi = 0.158655, 0.539828, 0.691462 against 1/3, 2/3, 1: largest gap 0.308538
  CHECK(test::kolmogorov_smirnov_normal(z).statistic == Approx(0.3085375387).epsilon(1e-8));
  const double a = 0.15865525393, b = 0.53982783728, c = 0.69146246127;
  const double sum = 1 * (std::log(a) + std::log(1 - c)) + 3 * (std::log(b) + std::log(1 - b)) +
                     5 * (std::log(c) + std::log(1 - a));
  CHECK(test::anderson_darling_normal(z).statistic == Approx(-3 - sum / 3).epsilon(1e-8));
}

TEST_CASE("p-values of both normality tests are uniform for normal numbers and small for others") {
  // 1000 sets of 100: in each of 10 equal bins 100 p-values are expected; chi-square with 9 dof
  // fails at p < 1e-3.
  test::Dice dice(5);
  std::vector<double> smirnov(10, 0), anderson(10, 0);
  const std::vector<double> expected(10, 100.0);
  int wide_smirnov = 0, wide_anderson = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> z(100);
    for (double& x : z) x = dice.normal();
    smirnov[static_cast<std::size_t>(
        std::min(9.0, 10 * test::kolmogorov_smirnov_normal(z).p_value))] += 1;
    anderson[static_cast<std::size_t>(
        std::min(9.0, 10 * test::anderson_darling_normal(z).p_value))] += 1;
    for (double& x : z) x = 1.5 * x + 0.3;
    if (test::kolmogorov_smirnov_normal(z).p_value < 0.05) ++wide_smirnov;
    if (test::anderson_darling_normal(z).p_value < 0.05) ++wide_anderson;
  }
  CHECK(test::chi_square_test(smirnov, expected).p_value > 1e-3);
  CHECK(test::chi_square_test(anderson, expected).p_value > 1e-3);
  CHECK(wide_smirnov > 800);
  CHECK(wide_anderson > 950);
}

TEST_CASE("chi-square merges bins that expect too little") {
  const std::vector<double> observed{1, 2, 9, 8, 12, 1}, expected{2, 4, 8, 8, 9, 2};
  const test::TestOfFit test = test::chi_square_test(observed, expected);
  // merged: 3|6, 9|8, 8|8, 13|11
  CHECK(test.statistic == Approx(9.0 / 6 + 1.0 / 8 + 0 + 4.0 / 11));
  CHECK(test.dof == 3);
  CHECK(test.p_value == Approx(chi_square_q(test.statistic, 3)));
}

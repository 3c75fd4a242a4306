// Probabilities for tests of fit: chi-square, Kolmogorov-Smirnov, Anderson-Darling. Used by the
// fits here and by the tests of the other folders.
#pragma once

#include <span>

namespace rewise {

// Regularised upper incomplete gamma function Q(a, x), a > 0, x >= 0.
double gamma_q(double a, double x);

// Standard normal distribution function, and its inverse for 0 < probability < 1.
double normal_cdf(double z);
double normal_quantile(double probability);

// P(chi^2 >= chi2) with `dof` degrees of freedom; 1 for dof <= 0 (nothing was tested).
double chi_square_q(double chi2, double dof);

// P(|t| >= |value|) of Student's t distribution.
double student_two_sided(double value, double dof);

// Half the width of the interval of Student's t that holds 68.27%: 1 for many degrees of freedom.
double student_one_sigma(double dof);

struct TestOfFit {
  double statistic = 0;
  double dof = 0;      // chi-square only
  double p_value = 1;  // probability of a statistic at least as large under the hypothesis
};

// Pearson's test of counts against expected counts (same total). Neighbouring bins are merged
// until each expects at least `least_expected`; `fitted` parameters are taken off the dof.
TestOfFit chi_square_test(std::span<const double> observed, std::span<const double> expected,
                          double least_expected = 5, int fitted = 0);

// Are these independent numbers standard normal? Kolmogorov-Smirnov with Stephens' finite-n
// factor sqrt(n) + 0.12 + 0.11/sqrt(n) (J. R. Stat. Soc. B 32, 115 (1970)).
TestOfFit kolmogorov_smirnov_normal(std::span<const double> z);

// The same by Anderson and Darling's A^2, which sees the tails better; limiting distribution of
// Marsaglia & Marsaglia, J. Stat. Softw. 9 (2) (2004), good to 1e-3 from n = 20 on.
TestOfFit anderson_darling_normal(std::span<const double> z);

}  // namespace rewise

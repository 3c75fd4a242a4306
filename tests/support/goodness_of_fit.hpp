// Goodness-of-fit tests: Pearson's chi-square, Kolmogorov-Smirnov, Anderson-Darling.
#pragma once

#include <span>

namespace rewise::test {

// Quantile of the standard normal distribution, 0 < probability < 1.
double normal_quantile(double probability);

struct TestOfFit {
  double statistic = 0;
  double dof = 0;      // chi-square only
  double p_value = 1;  // probability of a statistic at least as large under the hypothesis
};

// Pearson's test of counts against expected counts (same total). Neighbouring bins are merged until
// each has an expected count of at least `least_expected`. The number of fitted parameters,
// `fitted`, is subtracted from the degrees of freedom.
TestOfFit chi_square_test(std::span<const double> observed, std::span<const double> expected,
                          double least_expected = 5, int fitted = 0);

// Kolmogorov-Smirnov test of independent numbers against the standard normal distribution, with the
// finite-n factor sqrt(n) + 0.12 + 0.11/sqrt(n) of Stephens (J. R. Stat. Soc. B 32, 115 (1970)).
TestOfFit kolmogorov_smirnov_normal(std::span<const double> z);

// Anderson-Darling test (statistic A^2) of the same hypothesis; more sensitive in the tails. The
// limiting distribution is that of Marsaglia & Marsaglia, J. Stat. Softw. 9 (2) (2004), accurate to
// 1e-3 for n >= 20.
TestOfFit anderson_darling_normal(std::span<const double> z);

}  // namespace rewise::test

// Tests of fit of numbers to a law: Pearson's chi-square, Kolmogorov-Smirnov, Anderson-Darling.
#pragma once

#include <span>

namespace rewise::test {

// Of the standard normal distribution, 0 < probability < 1.
double normal_quantile(double probability);

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

}  // namespace rewise::test

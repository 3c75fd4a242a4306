#include "tests/support/goodness_of_fit.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <vector>

#include "analysis/series/distributions.hpp"
#include "src/base/error.hpp"

namespace rewise::test {
namespace {

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

// P(K >= x) of Kolmogorov's limiting distribution, 2 sum (-1)^(k-1) exp(-2 k^2 x^2).
double kolmogorov_q(double x) {
  if (x < 0.2) return 1;  // 1 - 5e-13; the alternating series would lose its digits
  double sum = 0;
  for (int k = 1; k < 100; ++k) {
    const double term = std::exp(-2.0 * k * k * x * x);
    sum += k % 2 == 1 ? term : -term;
    if (term < 1e-17) break;
  }
  return std::clamp(2 * sum, 0.0, 1.0);
}

// Limiting distribution function of A^2: Marsaglia & Marsaglia 2004, function adinf.
double anderson_darling_cdf(double a) {
  if (a <= 0) return 0;
  if (a < 2) {
    return std::exp(-1.2337141 / a) / std::sqrt(a) *
           (2.00012 +
            (0.247105 - (0.0649821 - (0.0347962 - (0.0116720 - 0.00168691 * a) * a) * a) * a) * a);
  }
  return std::exp(-std::exp(
      1.0776 - (2.30695 - (0.43424 - (0.082433 - (0.008056 - 0.0003146 * a) * a) * a) * a) * a));
}

}  // namespace

double normal_quantile(double probability) {
  return boost::math::quantile(boost::math::normal_distribution<double>(), probability);
}

TestOfFit chi_square_test(std::span<const double> observed, std::span<const double> expected,
                          double least_expected, int fitted) {
  if (observed.size() != expected.size()) {
    throw Error(ExitCode::internal, "chi_square_test: as many expected as observed counts needed");
  }
  std::vector<double> seen, awaited;
  double seen_sum = 0, awaited_sum = 0;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    seen_sum += observed[i];
    awaited_sum += expected[i];
    if (awaited_sum >= least_expected) {
      seen.push_back(seen_sum);
      awaited.push_back(awaited_sum);
      seen_sum = awaited_sum = 0;
    }
  }
  if (!awaited.empty()) {  // the rest is too small for another bin
    seen.back() += seen_sum;
    awaited.back() += awaited_sum;
  }

  TestOfFit test;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    test.statistic += (seen[i] - awaited[i]) * (seen[i] - awaited[i]) / awaited[i];
  }
  test.dof = static_cast<double>(seen.size()) - 1 - fitted;
  test.p_value = test.dof > 0 ? chi_square_q(test.statistic, test.dof) : 0;  // too few to test
  return test;
}

TestOfFit kolmogorov_smirnov_normal(std::span<const double> z) {
  TestOfFit test;
  if (z.empty()) return test;
  const auto ordered = sorted(z);
  const double n = static_cast<double>(ordered.size());
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const double below = static_cast<double>(i) / n, up_to = static_cast<double>(i + 1) / n;
    const double cdf = normal_cdf(ordered[i]);
    test.statistic = std::max({test.statistic, up_to - cdf, cdf - below});
  }
  test.p_value = kolmogorov_q((std::sqrt(n) + 0.12 + 0.11 / std::sqrt(n)) * test.statistic);
  return test;
}

TestOfFit anderson_darling_normal(std::span<const double> z) {
  TestOfFit test;
  if (z.empty()) return test;
  const auto ordered = sorted(z);
  const std::size_t n = ordered.size();
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    // ln Phi(z_i) + ln(1 - Phi(z_(n-1-i))); the second uses symmetry to avoid cancellation
    const double terms =
        std::log(normal_cdf(ordered[i])) + std::log(normal_cdf(-ordered[n - 1 - i]));
    sum += (2 * static_cast<double>(i) + 1) * terms;
  }
  test.statistic = -static_cast<double>(n) - sum / static_cast<double>(n);
  test.p_value = std::clamp(1 - anderson_darling_cdf(test.statistic), 0.0, 1.0);
  return test;
}

}  // namespace rewise::test

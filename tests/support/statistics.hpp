// Statistics for comparisons with exact values: errors from independent replicas, and a test that
// z-scores are standard normal.
//
// normality() is the Anderson-Darling test against N(0, 1) without fitted parameters (Anderson &
// Darling, Ann. Math. Stat. 23, 193 (1952)). Its distribution for many values is that of G. & J.
// Marsaglia, J. Stat. Softw. 9(2) (2004), accurate to 2e-6.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace rewise::oracle {

struct Estimate {
  double value = 0, error = 0;

  double z(double exact) const { return (value - exact) / error; }
};

// Mean of independent values and its standard error.
inline Estimate mean_of(std::span<const double> x) {
  const auto n = static_cast<double>(x.size());
  double sum = 0, square = 0;
  for (const double v : x) sum += v;
  for (const double v : x) square += (v - sum / n) * (v - sum / n);
  return {sum / n, std::sqrt(square / (n * (n - 1)))};
}

// Jackknife over independent rows: f of the mean row, with the bias removed to first order.
template <class F>
Estimate jackknife(const std::vector<std::vector<double>>& rows, const F& f) {
  const std::size_t n = rows.size(), width = rows.front().size();
  std::vector<double> total(width, 0.0), mean(width);
  for (const auto& row : rows) {
    for (std::size_t k = 0; k < width; ++k) total[k] += row[k];
  }
  for (std::size_t k = 0; k < width; ++k) mean[k] = total[k] / static_cast<double>(n);
  const double full = f(mean);
  std::vector<double> left(n);
  double sum = 0, square = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < width; ++k) {
      mean[k] = (total[k] - rows[i][k]) / static_cast<double>(n - 1);
    }
    left[i] = f(mean);
    sum += left[i];
  }
  const double count = static_cast<double>(n), centre = sum / count;
  for (const double v : left) square += (v - centre) * (v - centre);
  return {count * full - (count - 1) * centre, std::sqrt((count - 1) / count * square)};
}

inline double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

// Probability that the Anderson-Darling statistic of many N(0, 1) values is below a.
inline double anderson_darling_cdf(double a) {
  if (a < 2) {
    return std::exp(-1.2337141 / a) / std::sqrt(a) *
           (2.00012 +
            (.247105 - (.0649821 - (.0347962 - (.011672 - .00168691 * a) * a) * a) * a) * a);
  }
  return std::exp(-std::exp(
      1.0776 - (2.30695 - (.43424 - (.082433 - (.008056 - .0003146 * a) * a) * a) * a) * a));
}

struct Normality {
  double p = 0;           // probability that N(0, 1) values give a larger statistic
  double mean_z = 0;      // mean x sqrt(n); N(0, 1) if the values are
  double variance_z = 0;  // (mean square - 1) x sqrt(n / 2); then nearly N(0, 1)
};

inline Normality normality(std::vector<double> z) {
  std::sort(z.begin(), z.end());
  const std::size_t n = z.size();
  const auto count = static_cast<double>(n);
  double a = 0, sum = 0, square = 0;
  for (std::size_t i = 0; i < n; ++i) {
    // Keeps the logarithms finite. Values beyond 37 standard deviations are not distinguished.
    const double low = std::max(normal_cdf(z[i]), 1e-300);
    const double high = std::max(normal_cdf(-z[n - 1 - i]), 1e-300);
    a -= (2.0 * static_cast<double>(i) + 1) * (std::log(low) + std::log(high)) / count;
    sum += z[i];
    square += z[i] * z[i];
  }
  a -= count;
  return {1 - anderson_darling_cdf(a), sum / std::sqrt(count),
          (square / count - 1) * std::sqrt(count / 2)};
}

}  // namespace rewise::oracle

// Chi-square tests of counts against expected counts. Neighbouring cells are joined until each
// expects at least 10, so that the statistic follows its law.
#pragma once

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rewise::oracle {

struct ChiSquare {
  double statistic = 0;
  std::size_t cells = 0;
  double p_value = 0;  // probability of a larger statistic if the expectation is true
};

// counts[k] against expected[k]; both sum to the same total (the last cell contains the whole
// tail).
inline ChiSquare chi_square(std::span<const double> counts, std::span<const double> expected) {
  std::vector<double> seen, mean;
  double c = 0, e = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    c += counts[k];
    e += expected[k];
    if (e >= 10) {
      seen.push_back(c);
      mean.push_back(e);
      c = e = 0;
    }
  }
  if (!mean.empty()) {
    seen.back() += c;
    mean.back() += e;
  }
  ChiSquare result;
  result.cells = mean.size();
  if (result.cells < 2) return result;  // p_value = 0, because nothing was tested
  for (std::size_t k = 0; k < seen.size(); ++k) {
    result.statistic += (seen[k] - mean[k]) * (seen[k] - mean[k]) / mean[k];
  }
  const boost::math::chi_squared law(static_cast<double>(result.cells - 1));
  result.p_value = boost::math::cdf(boost::math::complement(law, result.statistic));
  return result;
}

// P(k), k = 0..n.
inline std::vector<double> binomial(unsigned n, double q) {
  std::vector<double> law(n + 1);
  for (unsigned k = 0; k <= n; ++k) {
    law[k] = q >= 1 ? (k == n)
             : q <= 0
                 ? (k == 0)
                 : std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) +
                            k * std::log(q) + (n - k) * std::log1p(-q));
  }
  return law;
}

// P(k), k = 0..last. The tail beyond `last` is negligible if last >> mean.
inline std::vector<double> poisson(double mean, unsigned last) {
  std::vector<double> law(last + 1);
  for (unsigned k = 0; k <= last; ++k) {
    law[k] = std::exp(k * std::log(mean) - mean - std::lgamma(k + 1.0));
  }
  return law;
}

// The distribution of the sum of two independent numbers.
inline std::vector<double> sum_law(std::span<const double> x, std::span<const double> y) {
  std::vector<double> law(x.size() + y.size() - 1, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < y.size(); ++j) law[i + j] += x[i] * y[j];
  }
  return law;
}

// Counts of values 0, 1, .. against a distribution. Larger values count in its last cell.
inline ChiSquare chi_square_of(const std::vector<std::uint64_t>& values,
                               const std::vector<double>& law) {
  std::vector<double> counts(law.size(), 0.0), expected(law);
  for (const std::uint64_t v : values) counts[std::min<std::size_t>(v, law.size() - 1)] += 1;
  for (double& e : expected) e *= static_cast<double>(values.size());
  return chi_square(counts, expected);
}

}  // namespace rewise::oracle

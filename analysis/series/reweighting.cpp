#include "analysis/series/reweighting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/error.hpp"

namespace rewise {

double log_sum_exp(std::span<const double> x) {
  if (x.empty()) return -std::numeric_limits<double>::infinity();
  const double most = *std::max_element(x.begin(), x.end());
  if (!std::isfinite(most)) return most;
  double sum = 0;
  for (const double v : x) sum += std::exp(v - most);
  return most + std::log(sum);
}

Eigen::ArrayXd reweighting_weights(IntSeriesRef bond_sums, double delta_beta) {
  if (bond_sums.size() == 0) throw Error(ExitCode::internal, "reweighting: an empty series");
  Eigen::ArrayXd weights(bond_sums.size());
  Eigen::Index i = 0;
  for (Eigen::Index t = 0; t < bond_sums.rows(); ++t) {
    for (Eigen::Index r = 0; r < bond_sums.cols(); ++r) {
      weights[i++] = delta_beta * static_cast<double>(bond_sums(t, r));
    }
  }
  weights = (weights - weights.maxCoeff()).exp();
  return weights / weights.sum();
}

double effective_fraction(const Eigen::ArrayXd& weights) {
  const double sum = weights.sum();
  return sum * sum / (static_cast<double>(weights.size()) * weights.square().sum());
}

Reweighted reweight(IntSeriesRef bond_sums, IntSeriesRef magnetisation_sums,
                    const SampleUnits& units, double beta0, double beta) {
  if (bond_sums.rows() != magnetisation_sums.rows() ||
      bond_sums.cols() != magnetisation_sums.cols()) {
    throw Error(ExitCode::data, "energy and magnetisation series differ in shape");
  }
  const Eigen::ArrayXd weights = reweighting_weights(bond_sums, beta - beta0);
  Reweighted result{Moments::Zero(), effective_fraction(weights)};
  Eigen::Index i = 0;
  for (Eigen::Index t = 0; t < bond_sums.rows(); ++t) {
    for (Eigen::Index r = 0; r < bond_sums.cols(); ++r) {
      result.moments +=
          weights[i++] * moments_of_sample(bond_sums(t, r), magnetisation_sums(t, r), units);
    }
  }
  result.moments = with_squares(result.moments);
  return result;
}

}  // namespace rewise

// Single-histogram reweighting (Ferrenberg & Swendsen, Phys. Rev. Lett. 61, 2635 (1988)): moments
// at beta from a series sampled at beta0, each sample weighted by exp(-(beta - beta0) E).
#pragma once

#include <Eigen/Core>
#include <span>

#include "analysis/series/moments.hpp"

namespace rewise {

// ln sum_i exp(x_i), without overflow; -infinity for no terms.
double log_sum_exp(std::span<const double> x);

struct Reweighted {
  Moments moments;
  // (sum w)^2 / (n sum w^2): 1 at beta0, falling to 1/n where one sample carries all weight.
  // Below some 0.1 the average rests on the tail of the histogram.
  double effective_fraction = 1;
};

// Normalised weights, in the order of `bond_sums` (E = -bond sum).
Eigen::ArrayXd reweighting_weights(IntSeriesRef bond_sums, double delta_beta);
double effective_fraction(const Eigen::ArrayXd& weights);

Reweighted reweight(IntSeriesRef bond_sums, IntSeriesRef magnetisation_sums,
                    const SampleUnits& units, double beta0, double beta);

}  // namespace rewise

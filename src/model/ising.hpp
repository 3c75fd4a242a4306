// The Ising model H = -sum_bonds s_i s_j (J = 1, k_B = 1): acceptance and bond probabilities.
// h is the sum of the neighbouring spins, s h = "field along the spin", an integer in [-k, k] for a
// site of degree k.
#pragma once

#include <cmath>

namespace rewise::ising {

// Metropolis et al. 1953: min(1, exp(-2 beta s h)).
inline double metropolis_probability(double beta, int sh) {
  return sh <= 0 ? 1.0 : std::exp(-2.0 * beta * sh);
}

// Glauber 1963: 1 / (1 + exp(2 beta s h)). The heat bath: independent of the spin's old value.
inline double glauber_probability(double beta, int sh) {
  return 1.0 / (1.0 + std::exp(2.0 * beta * sh));
}

// Fortuin-Kasteleyn bond between equal spins: 1 - exp(-2 beta).
inline double bond_probability(double beta) { return -std::expm1(-2.0 * beta); }

}  // namespace rewise::ising

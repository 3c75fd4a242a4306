// The q-state Potts model H = -sum_bonds delta(s_i, s_j) (J = 1, k_B = 1).
// n is the number of neighbours in a given state.
#pragma once

#include <cmath>

namespace rewise::potts {

// Metropolis: min(1, exp(-beta (n_old - n_new))).
inline double metropolis_probability(double beta, int lost_neighbours) {
  return lost_neighbours <= 0 ? 1.0 : std::exp(-beta * lost_neighbours);
}

// Fortuin-Kasteleyn bond between equal spins: 1 - exp(-beta).
inline double bond_probability(double beta) { return -std::expm1(-beta); }

}  // namespace rewise::potts

// Exact energies per site of the q-state Potts model, H = -sum delta(s_i, s_j), on the square
// lattice at its transition, beta_t = ln(1 + sqrt q).
#pragma once

#include <cmath>

namespace rewise::oracle {

inline double potts_beta(double q) { return std::log(1 + std::sqrt(q)); }

// The energy of the infinite lattice for q <= 4; the mean of the energies of the two phases for
// q > 4. Follows from duality.
inline double potts_energy(double q) { return -(1 + 1 / std::sqrt(q)); }

// The energies of the two phases that coexist for q > 4: Baxter, J. Phys. C 6, L445 (1973), as in
// Wu, Rev. Mod. Phys. 54, 235 (1982). With 2 cosh x = sqrt q, the latent heat is
//   e_d - e_o = 2 (1 + 1 / sqrt q) tanh(x / 2) prod_(n >= 1) tanh^2(n x),
// and duality puts e_o and e_d at equal distances from potts_energy(q).
struct PottsPhases {
  double ordered, disordered;
};
inline PottsPhases potts_phases(double q) {
  const double x = std::acosh(std::sqrt(q) / 2);
  double latent = 2 * (1 + 1 / std::sqrt(q)) * std::tanh(x / 2);
  for (int n = 1; n * x < 20; ++n) latent *= std::tanh(n * x) * std::tanh(n * x);
  return {potts_energy(q) - latent / 2, potts_energy(q) + latent / 2};
}

}  // namespace rewise::oracle

// Published properties of the Ising model on the regular lattice of one to four dimensions.
#pragma once

#include "analysis/series/statistics.hpp"

namespace rewise {

struct RegularLattice {
  Value beta_c;                   // 1/Tc; error 0 if exact
  double gamma = 0, nu = 0;       // critical exponents
  double susceptibility = 0;      // X_MM = <M^2>/N = susceptibility (1 - Tc/T)^-gamma above Tc
  double correlation_length = 0;  // xi = correlation_length (1 - Tc/T)^-nu above Tc
  // Exponent and amplitude of the sum over r of <s_0 s_r>^2: (4 - d - 2 eta) nu.
  double squares_exponent = 0, squares = 0;
  double dilution = 0;  // -d ln Tc / dq for a small fraction q of removed bonds

  Value tc() const {
    const double beta = beta_c.value;
    return beta > 0 ? Value{1 / beta, beta_c.error / (beta * beta)} : Value{};
  }
};

// Two dimensions: exact (Onsager; Barouch, McCoy & Wu 1973). Three: beta_c of Ferrenberg, Xu &
// Landau, Phys. Rev. E 97, 043301 (2018), exponents of Chang et al., arXiv 2411.15300, amplitudes
// from high-temperature series (analysis/README.md; Butera & Comi, Phys. Rev. B 56, 8212 (1997)).
// Four: beta_c of Lundow & Markstrom, Nucl. Phys. B 993, 116256 (2023); mean field without its
// logarithms. The amplitudes of squares and the dilution are rough. One dimension: Tc = 0.
inline const RegularLattice& regular_lattice(int dim) {
  static constexpr RegularLattice lattices[] = {
      {},
      {{}, 1, 1, 1, 1, 1, 0.5, 0},
      {{0.4406867935097715, 0}, 1.75, 1, 0.9625817, 0.5672963, 1.5, 0.27, 1.33},
      {{0.221654626, 5e-9}, 1.2370755, 0.6299710, 1.1231, 0.5027, 0.5840, 0.7, 1.1},
      {{0.149693785, 1e-8}, 1, 0.5, 1.0, 0.354, 0.1, 1.2, 1.06}};
  return lattices[dim];
}

}  // namespace rewise

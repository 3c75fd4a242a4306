// Published properties of the Ising model on the regular lattice of one to four dimensions. Those
// that Python needs are in analysis/rewise/published.py, too; a test compares both.
#pragma once

#include "analysis/series/statistics.hpp"
#include "src/base/constants.hpp"

namespace rewise {

struct RegularLattice {
  Value beta_c = {};                  // 1/Tc; error 0 if exact
  double gamma = 0, nu = 0, eta = 0;  // critical exponents
  double omega = 0;                   // exponent of the corrections of U: L^-omega
  double binder = kNaN;               // U at Tc of the torus of equal extents
  double susceptibility = 0;          // X_MM = <M^2>/N = susceptibility (1 - Tc/T)^-gamma above Tc
  double correlation_length = 0;      // xi = correlation_length (1 - Tc/T)^-nu above Tc
  // Exponent and amplitude of the sum over r of <s_0 s_r>^2: (4 - d - 2 eta) nu.
  double squares_exponent = 0, squares = 0;
  double dilution = 0;  // -d ln Tc / dq for a small fraction q of removed bonds
  double glass_nu = 0, glass_eta = 0, glass_omega = 0;  // of the spin glass with J = +-1

  Value tc() const {
    const double beta = beta_c.value;
    return beta > 0 ? Value{1 / beta, beta_c.error / (beta * beta)} : Value{};
  }
};

// One dimension: Tc = 0.
//
// Two: exact (Onsager; Barouch, McCoy & Wu 1973). The leading correction of U is the analytic
// background of chi, omega = d - 2 y_h (Salas & Sokal, J. Stat. Phys. 98, 551 (2000)).
//
// Three: beta_c and nu of Ferrenberg, Xu & Landau, Phys. Rev. E 97, 043301 (2018), gamma of Chang
// et al., arXiv 2411.15300, eta and omega of Kos et al., JHEP 08 (2016) 036, amplitudes from
// high-temperature series (analysis/README.md; Butera & Comi, Phys. Rev. B 56, 8212 (1997)). Spin
// glass: nu = 2.562(42), eta = -0.3900(36), omega = 1.12(10) (Baity-Jesi et al., Phys. Rev. B 88,
// 224416 (2013)).
//
// Four: beta_c of Lundow & Markstrom, Nucl. Phys. B 993, 116256 (2023); mean field without its
// logarithms.
//
// The amplitudes of squares and the dilution are rough.
inline const RegularLattice& regular_lattice(int dim) {
  static constexpr RegularLattice none{};  // for a graph without extents
  static constexpr RegularLattice chain{
      .gamma = 1,
      .nu = 1,
      .eta = 1,
      .susceptibility = 1,
      .correlation_length = 1,
      .squares_exponent = 1,
      .squares = 0.5,
  };
  static constexpr RegularLattice square{
      .beta_c = {0.4406867935097715, 0},
      .gamma = 1.75,
      .nu = 1,
      .eta = 0.25,
      .omega = 1.75,
      .binder = 0.61069,
      .susceptibility = 0.9625817,
      .correlation_length = 0.5672963,
      .squares_exponent = 1.5,
      .squares = 0.27,
      .dilution = 1.33,
  };
  static constexpr RegularLattice cubic{
      .beta_c = {0.221654626, 5e-9},
      .gamma = 1.2370755,
      .nu = 0.629912,
      .eta = 0.03627,
      .omega = 0.8297,
      .binder = 0.4655,
      .susceptibility = 1.1231,
      .correlation_length = 0.5027,
      .squares_exponent = 0.5840,
      .squares = 0.7,
      .dilution = 1.1,
      .glass_nu = 2.562,
      .glass_eta = -0.39,
      .glass_omega = 1.12,
  };
  static constexpr RegularLattice hypercubic{
      .beta_c = {0.149693785, 1e-8},
      .gamma = 1,
      .nu = 0.5,
      .eta = 0,
      .omega = 2,
      .susceptibility = 1.0,
      .correlation_length = 0.354,
      .squares_exponent = 0.1,
      .squares = 1.2,
      .dilution = 1.06,
  };
  static constexpr const RegularLattice* lattices[] = {&none, &chain, &square, &cubic, &hypercubic};
  return *lattices[dim];
}

}  // namespace rewise

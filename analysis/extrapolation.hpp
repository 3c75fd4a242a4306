// Crossing temperatures of size pairs, extrapolated to infinite size.
//
// Near Tc an observable that is size-independent there behaves as
//   U(T, N) = U* + A (T - Tc) N^y + B N^-w,
// so that the curves of N1 < N2 cross at
//   T_x = Tc + (B/A) (N1^-w - N2^-w) / (N2^y - N1^y)                              (shift)
//   U_x = U* + B [N1^-w + N1^y (N1^-w - N2^-w) / (N2^y - N1^y)]                   (height)
// (Binder, Z. Phys. B 43, 119 (1981); Ferrenberg & Landau, Phys. Rev. B 44, 5081 (1991)).
// Mean field, p > 0: y = w = 1/2 (y = 1/nu_bar, nu_bar = 2), the shift is 1/sqrt(N1 N2) exactly
// and the height N1^-1/2 + N2^-1/2. Regular lattice: y = 1/(nu d), w = omega/d.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "analysis/crossing.hpp"
#include "analysis/linear_fit.hpp"

namespace rewise {

// Exponents in powers of N (not of L).
struct ScalingExponents {
  double y = 0.5;
  double w = 0.5;
};

ScalingExponents mean_field_exponents();

// Regular Ising lattice in dim dimensions. 2D: nu = 1; the leading correction of U is L^-7/4, the
// analytic background of chi (d - 2 y_h; Salas & Sokal, J. Stat. Phys. 98, 551 (2000)).
// 3D: nu = 0.629912 (Ferrenberg, Xu & Landau 2018), omega = 0.8297 (Kos et al., JHEP 08 (2016)
// 036). 4D: mean field with logarithms, which are left out: y = w = 1/2.
// Error for dim 1, which has no transition.
ScalingExponents regular_exponents(int dim);

// Potts with q states on the square lattice, second order for q <= 4: nu = 5/6 and omega = 4/5 for
// q = 3 (den Nijs, J. Phys. A 12, 1857 (1979); Nienhuis, J. Phys. A 15, 199 (1982)); nu = 2/3 for
// q = 4, whose corrections are logarithms, which are left out: w = 1/2. q = 2 is Ising in any
// dimension. Error elsewhere, where the transition is of first order.
ScalingExponents potts_exponents(int dim, int q);

double crossing_shift(double smaller, double larger, ScalingExponents e);
double crossing_height_shift(double smaller, double larger, ScalingExponents e);

enum class SizeForm { constant, shifted };  // Tc alone; Tc + a shift(N1, N2), one a per observable

struct CrossingFit {
  SizeForm form = SizeForm::shifted;
  double smallest = 0;     // sites of the smallest size used
  LinearFit fit;           // parameters: limit, then one amplitude per observable (if shifted)
  Eigen::MatrixXd design;  // [used, parameters]
  std::vector<std::size_t> used;  // indices of the crossings that went in
};

struct Extrapolation {
  Jackknifed limit;  // of the chosen fit, with its correlations
  Value value;       // bias-corrected
  // Spread of the alternatives: the largest |limit - limit'| over fits with one size fewer and
  // over the other form, where those have Q >= kLeastQ and the change exceeds what the errors of
  // the dropped data explain; 0 where nothing can be compared.
  double systematic = 0;
  double doubt = 0;  // what the errors explain of the difference that `systematic` comes from
  std::optional<std::size_t> fewer;  // in fits: the alternative with one size fewer, where compared
  std::size_t chosen = 0;            // index in fits
  std::vector<CrossingFit> fits;     // every form and smallest size that could be fitted
  bool ok = false;                   // false: no crossing was found, or no fit was possible

  // The value with both errors, added in quadrature.
  Value total() const { return {value.value, std::hypot(value.error, systematic)}; }
};

// A fit below is passed over, a sound one in a hundred among them: dropping data costs more than
// bearing with an unlucky draw.
inline constexpr double kLeastQ = 0.01;

// Fits every form from every smallest size on; chooses the shifted form with the most data that
// has Q >= kLeastQ, then the constant one (which is all that one size pair allows), then the fit
// with the greatest Q. Crossings that were not `found` are skipped. Crossings of different
// observables (U and sqrt(N) m^2) share Tc and have their own amplitudes.
Extrapolation extrapolate_temperature(const std::vector<Crossing>& crossings, ScalingExponents e);

// The height of one observable's crossings, extrapolated likewise: U -> U*.
Extrapolation extrapolate_height(const std::vector<Crossing>& crossings, ScalingExponents e);

}  // namespace rewise

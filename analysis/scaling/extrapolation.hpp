// Extrapolates crossing temperatures to infinite size. The curves of two sizes cross each other,
// and the curve of one size crosses the limit U* if that is known.
//
// Near Tc an observable that is size-independent there behaves as
//   U(T, N) = U* + A (T - Tc) N^y + B N^-w,
// so that the curves of N1 < N2 cross at
//   T_x = Tc + (B/A) (N1^-w - N2^-w) / (N2^y - N1^y)                              (shift)
//   U_x = U* + B [N1^-w + N1^y (N1^-w - N2^-w) / (N2^y - N1^y)]                   (height)
// (Binder, Z. Phys. B 43, 119 (1981); Ferrenberg & Landau, Phys. Rev. B 44, 5081 (1991)).
// Mean field, p > 0: y = w = 1/2 (y = 1/nu_bar, nu_bar = 2), the shift is 1/sqrt(N1 N2) exactly
// and the height N1^-1/2 + N2^-1/2. Regular lattice: y = 1/(nu d), w = omega/d.
// If U* is known, the curve of one size crosses it at
//   T_x = Tc - (B/A) N^(-w-y),
// with the same amplitude B/A; in mean field the shift is -1/N.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "analysis/scaling/crossing.hpp"
#include "analysis/scaling/linear_fit.hpp"

namespace rewise {

// Exponents in powers of N (not of L).
struct ScalingExponents {
  double y = 0.5;
  double w = 0.5;
};

ScalingExponents mean_field_exponents();

// Regular Ising lattice in dim dimensions (regular_lattice.hpp). 4D: the logarithms are left out.
// Error for dim 1, which has no transition.
ScalingExponents regular_exponents(int dim);

// Potts with q states on the square lattice, second order for q <= 4: nu = 5/6 and omega = 4/5 for
// q = 3 (den Nijs, J. Phys. A 12, 1857 (1979); Nienhuis, J. Phys. A 15, 199 (1982)); nu = 2/3 for
// q = 4, whose corrections are logarithms, which are left out: w = 1/2. q = 2 is Ising in any
// dimension. Error for other q and dimensions, which have no transition of second order.
ScalingExponents potts_exponents(int dim, int q);

// N^x <m^2> crosses at Tc: x = 1/2 in mean field, (d - 2 + eta)/d on the regular lattice. Square
// lattice with three states: eta = 4/15, with four: 1/4, as with two.
inline constexpr double kMeanFieldM2Power = 0.5;
double regular_m2_power(int dim, int q);

// U at Tc of the infinite mean-field lattice: 1 - Gamma(1/4)^4 / (24 pi^2) (Brezin & Zinn-Justin,
// Nucl. Phys. B 257, 867 (1985)).
double mean_field_binder();

// The amount by which U at Tc is lowered, because every graph has its own transition temperature.
// These are normally distributed with a width of order N^(-1/2), like a mean-field window, so that
// the effect does not vanish with size. `spread` = [<m^2>^2] / [<m^2>]^2 - 1 is a measure of it
// (analysis/README.md).
double binder_lowered_by_spread(double spread);

double crossing_shift(double smaller, double larger, ScalingExponents e);
double crossing_height_shift(double smaller, double larger, ScalingExponents e);

// One fit: Tc + a_o s(N1, N2) with an amplitude per observable, to the pairs from some size on.
struct CrossingFit {
  double smallest = 0;            // sites of the smallest size used
  LinearFit fit;                  // parameters: limit, then one amplitude per observable
  Eigen::MatrixXd design;         // [used, parameters]
  Eigen::MatrixXd neglected;      // [used, used]: covariance of the neglected terms
  std::vector<std::size_t> used;  // indices of the crossings in the fit
  double weight = 0;              // in the average over fits
};

struct Extrapolation {
  Jackknifed limit;  // the average over fits, with its correlations
  Value value;       // bias-corrected; the statistical error
  // From the neglected terms, and from the spread of the fits beyond their noise.
  double systematic = 0;
  double members = 0;             // effective degrees of freedom of the statistical error
  std::size_t chosen = 0;         // index in fits of the one with the largest weight
  std::vector<CrossingFit> fits;  // possible fits, by smallest size
  bool ok = false;                // false: too few crossings for the form, or none at all

  // The value with both errors, added in quadrature.
  Value total() const { return {value.value, std::hypot(value.error, systematic)}; }
};

// Expected decrease of the terms of a power series in N^(-w): each is `ratio` N^(-w) times the
// previous one. For crossings with a known limit, this is multiplied by `limit_factor`.
struct SeriesPrior {
  double ratio = 1, limit_factor = 1;
};

// Extrapolates crossing temperatures to infinite size.
//
// Data. Crossings that were not `found` are skipped. If an observable has at least two crossings
// with its known limit, only these are used for it, since they are more precise than crossings of
// two sizes (analysis/README.md). Crossings of different observables (U and sqrt(N) m^2) share Tc
// and have their own amplitudes a_o. The fit needs as many pairs as parameters.
//
// Neglected terms. The next terms are b_o s2(N1, N2) and c_o s3(N1, N2), where s2 and s3 are the
// shifts of corrections N^(-2w) and N^(-3w). They have normal priors of mean 0, whose covariance is
// added to that of the crossings; this lowers the weight of small sizes (Bayesian fits of neglected
// terms: Lepage et al., Nucl. Phys. B Proc. Suppl. 106, 12 (2002)). With `series`, their standard
// deviations are the ratio and its square times the largest amplitude of the observables, and times
// limit_factor (next_term_ratio, next_term_of_limit). Otherwise each is kNextTerm times the
// previous term, at the smallest pair. The third term matters if the data determine b_o.
//
// Average. For each size there is a fit to the data from this size on. These fits are averaged with
// weights exp(-chi^2/2 - pairs left out) (Jay & Neil, Phys. Rev. D 103, 114502 (2021)), so that the
// error does not jump at a threshold.
//
// The statistical error is multiplied by three factors; the first also applies to the neglected
// terms. The first is the root of (chi^2 + 4)/(dof + 4) if that exceeds 1. This is the posterior
// mean of a scale factor of the covariance, whose prior has 4 degrees of freedom and is centred at
// 1. Beforehand, chi^2 is divided by the factor by which a covariance estimated from few graphs
// raises it on average. The second factor is few_members_factor(), because a fit to an estimated
// covariance underestimates the error (Hartlap, Simon & Schneider, Astron. Astrophys. 464, 399
// (2007)). It counts the graphs of all sizes, as each size affects only the residuals in its own
// block. The third extends the error to the 68% interval of Student's t.
Extrapolation extrapolate_temperature(const std::vector<Crossing>& crossings, ScalingExponents e,
                                      const std::optional<SeriesPrior>& series = {});

// The ratio of successive corrections to scaling, in units of N^(-w). At Tc, an observable with a
// known limit differs from it by B N^(-w), and its full range is `range`: ratio = |B| / range. B
// comes from the height of the crossing of the smallest pair, plus one standard error. Empty if
// there is no such crossing.
std::optional<double> next_term_ratio(const std::vector<Crossing>& crossings,
                                      CrossingObservable observable, double limit, double range,
                                      ScalingExponents e);

// Standard deviation, in `dim` dimensions, of the next term of the temperature where U has its
// limit, divided by ratio times the leading term. For p -> 0 everything is a function of L/xi0 with
// xi0 ~ p^(-nu/gamma) (Hastings 2003), so that this number depends only on the dimension. Measured
// with Tc by the tree condition (analysis/README.md): in 2D it scatters by 0.15 about 0 (p = 0.03
// to 1; rewire, add, swap); 3D -0.54(4) for rewire and -0.53(6) for add at p = 0.1; 4D -1.88(7);
// 1D 2.1(18).
double next_term_of_limit(int dim);

// The height of one observable's crossings, extrapolated in the same way: U -> U*.
Extrapolation extrapolate_height(const std::vector<Crossing>& crossings, ScalingExponents e);

// Standard deviation of a neglected term, divided by the previous term, at the smallest pair of a
// fit.
inline constexpr double kNextTerm = 0.4;

// The factor by which an error grows if the covariance was estimated with `members` degrees of
// freedom, in a fit with `dof` degrees of freedom. Infinite unless members > dof + 1. Does not
// include the factor of Student's t.
double few_members_factor(double members, int dof);

}  // namespace rewise

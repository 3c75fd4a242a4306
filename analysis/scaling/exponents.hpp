// The dependence of Tc on p: shifts Tc(p) - Tc(0), local exponents between neighbouring p, and a
// power law through all shifts. The covariance includes that of the common Tc(0).
#pragma once

#include <Eigen/Core>
#include <vector>

#include "analysis/scaling/linear_fit.hpp"
#include "analysis/series/jackknife.hpp"

namespace rewise {

// Shifts at p > 0, ascending in p.
struct Shifts {
  Eigen::VectorXd p;           // [k]
  Eigen::VectorXd value;       // [k]
  Eigen::MatrixXd covariance;  // [k, k]
  Value operator[](Eigen::Index i) const;
};

// Independent Tc(p) and one Tc(0) (error 0 where it is known exactly); any order of p > 0.
Shifts shifts(const std::vector<double>& p, const std::vector<Value>& tc, Value tc0);

// d ln(shift) / d ln p between p_i and p_(i+1), at their geometric mean.
struct LocalExponents {
  Eigen::VectorXd p;  // [k - 1]
  Estimates exponent;
};
// Linear error propagation; shifts that are not positive give NaN.
LocalExponents local_exponents(const Shifts& s);

// shift = amplitude * p^exponent over p_first .. p_last, fitted in logarithms.
// Not ok: fewer than two shifts, or one that is not positive.
struct PowerLaw : FitQuality {
  Value amplitude, exponent;
  Eigen::Matrix2d covariance;  // of (ln amplitude, exponent)
  double p_first = 0, p_last = 0;
};
PowerLaw fit_power_law(const Shifts& s);
// Fits over the full range and over ranges without the smallest or largest p, each with at least 3
// values (2 if there are no more). The full range comes first. If the shift does not follow a power
// law, the exponent drifts with the range.
std::vector<PowerLaw> fit_power_law_ranges(const Shifts& s);

}  // namespace rewise

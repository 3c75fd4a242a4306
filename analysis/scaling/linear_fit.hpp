// Generalised least squares: fits y = X a, where the errors of y have the covariance matrix C.
//
//   a = (X^T C^-1 X)^-1 X^T C^-1 y,  Cov(a) = (X^T C^-1 X)^-1,  chi^2 = r^T C^-1 r
#pragma once

#include <Eigen/Core>

#include "analysis/series/statistics.hpp"

namespace rewise {

struct FitQuality {
  double chi2 = 0;
  int dof = 0;
  double q = 1;     // P(chi^2 at least as large); 1 for dof = 0
  bool ok = false;  // false: there is no fit, or it does not describe the data
};

// Not ok if there are fewer points than parameters, if an input is not finite, or if the covariance
// or the design is nearly singular. All members except `dof` are then NaN.
struct LinearFit : FitQuality {
  Eigen::VectorXd parameters;  // [k]
  Eigen::MatrixXd covariance;  // [k, k]
  Eigen::MatrixXd gain;        // [k, points]: parameters = gain * y

  Value parameter(Eigen::Index i) const;
};

LinearFit fit_linear(const Eigen::MatrixXd& design, const Eigen::VectorXd& y,
                     const Eigen::MatrixXd& covariance);

}  // namespace rewise

// Nelder & Mead's simplex minimisation (Comput. J. 7, 308 (1965)) for a handful of parameters.
#pragma once

#include <Eigen/Core>
#include <functional>

namespace rewise {

struct Minimum {
  Eigen::VectorXd x;
  double value = 0;
  bool converged = false;
  int evaluations = 0;
};

// `step` [k]: size of the first simplex. Ends when the values agree to `tolerance` (relative) and
// the simplex has shrunk to sqrt(tolerance) of `step`; then restarts once from the result.
Minimum minimise(const std::function<double(const Eigen::VectorXd&)>& f,
                 const Eigen::VectorXd& start, const Eigen::VectorXd& step,
                 double tolerance = 1e-10, int most_evaluations = 4000);

}  // namespace rewise

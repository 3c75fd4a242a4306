#include "analysis/scaling/linear_fit.hpp"

#include <Eigen/Cholesky>
#include <cmath>

#include "analysis/series/distributions.hpp"
#include "src/base/constants.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

// Matrices with a smaller reciprocal condition number count as singular: a point (or a parameter)
// then contains almost no information that the others do not.
constexpr double kMinReciprocalCondition = 1e-11;

}  // namespace

Value LinearFit::parameter(Eigen::Index i) const {
  return {parameters[i], std::sqrt(covariance(i, i))};
}

LinearFit fit_linear(const Eigen::MatrixXd& design, const Eigen::VectorXd& y,
                     const Eigen::MatrixXd& covariance) {
  const Eigen::Index points = design.rows(), k = design.cols();
  if (y.size() != points || covariance.rows() != points || covariance.cols() != points) {
    throw Error(ExitCode::internal, "fit_linear: shapes do not match");
  }
  LinearFit fit;
  fit.parameters = Eigen::VectorXd::Constant(k, kNaN);
  fit.covariance = Eigen::MatrixXd::Constant(k, k, kNaN);
  fit.gain = Eigen::MatrixXd::Constant(k, points, kNaN);
  fit.chi2 = fit.q = kNaN;
  fit.dof = static_cast<int>(points - k);
  if (points < k || points == 0 || !y.allFinite() || !covariance.allFinite() ||
      !(covariance.diagonal().array() > 0).all()) {
    return fit;
  }

  // Divide by the errors of the points. The condition then depends on the correlations only.
  const Eigen::VectorXd weight = covariance.diagonal().cwiseSqrt().cwiseInverse();
  const Eigen::MatrixXd correlation = weight.asDiagonal() * covariance * weight.asDiagonal();
  const Eigen::LLT<Eigen::MatrixXd> root(correlation);
  if (root.info() != Eigen::Success || root.rcond() < kMinReciprocalCondition) return fit;
  const Eigen::MatrixXd white = root.matrixL().solve(weight.asDiagonal() * design);
  // Scale the parameters, too, because amplitudes and limits differ by orders of magnitude.
  const Eigen::VectorXd unit = white.colwise().norm().transpose().cwiseInverse();
  if (!unit.allFinite()) return fit;
  const Eigen::MatrixXd scaled = white * unit.asDiagonal();
  const Eigen::LLT<Eigen::MatrixXd> normal(scaled.transpose() * scaled);
  if (normal.info() != Eigen::Success || normal.rcond() < kMinReciprocalCondition) return fit;

  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(points, points);
  const Eigen::MatrixXd whitener = root.matrixL().solve(weight.asDiagonal() * identity);
  fit.gain = unit.asDiagonal() * normal.solve(scaled.transpose() * whitener);
  fit.parameters = fit.gain * y;
  fit.covariance =
      unit.asDiagonal() * normal.solve(Eigen::MatrixXd::Identity(k, k)) * unit.asDiagonal();
  fit.chi2 = (whitener * (y - design * fit.parameters)).squaredNorm();
  fit.q = chi_square_q(fit.chi2, fit.dof);
  fit.ok = true;
  return fit;
}

}  // namespace rewise

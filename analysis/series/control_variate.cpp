#include "analysis/series/control_variate.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <vector>

#include "src/base/error.hpp"

namespace rewise {
namespace {

using Eigen::Index;

void check_controls(const Eigen::ArrayXXd& rows, const ControlVariates& controls) {
  if (controls.x.cols() == 0) return;
  if (controls.x.rows() != rows.rows() || controls.mu.size() != controls.x.cols()) {
    throw Error(ExitCode::internal,
                "control variates: the numbers of graphs or of means do not match");
  }
}

// The columns of x that vary, minus their sample means and scaled to unit standard deviation.
struct Centred {
  Eigen::MatrixXd x;           // [graph, control]
  Eigen::VectorXd distance;    // [control] (sample mean - mu) / standard deviation
  std::vector<Index> varying;  // [control] column of ControlVariates::x
};

Centred centre(const ControlVariates& controls) {
  const Index graphs = controls.x.rows();
  std::vector<Index> varying;
  Eigen::VectorXd mean(controls.x.cols()), spread(controls.x.cols());
  for (Index c = 0; c < controls.x.cols(); ++c) {
    mean[c] = controls.x.col(c).mean();
    spread[c] = std::sqrt((controls.x.col(c) - mean[c]).square().mean());
    if (spread[c] > 1e-12 * std::abs(mean[c])) varying.push_back(c);
  }
  const auto kept = static_cast<Index>(varying.size());
  Centred result{Eigen::MatrixXd(graphs, kept), Eigen::VectorXd(kept), varying};
  for (Index i = 0; i < kept; ++i) {
    const Index c = varying[static_cast<std::size_t>(i)];
    result.x.col(i) = (controls.x.col(c) - mean[c]) / spread[c];
    result.distance[i] = (mean[c] - controls.mu[c]) / spread[c];
  }
  return result;
}

Eigen::ArrayXXd without_row(const Eigen::ArrayXXd& rows, Index i) {
  Eigen::ArrayXXd rest(rows.rows() - 1, rows.cols());
  rest.topRows(i) = rows.topRows(i);
  rest.bottomRows(rest.rows() - i) = rows.bottomRows(rest.rows() - i);
  return rest;
}

// Least-squares fit of the columns of y by those of x, which must have at least one column (Eigen's
// decomposition of a matrix without columns is undefined). The decomposition is rank-revealing, so
// that controls may be collinear.
struct Regression {
  Eigen::MatrixXd coefficients;  // [control, column of y]
  Index rank = 0;
};

Regression regress(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y) {
  const Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> decomposed(x);
  return {decomposed.solve(y), decomposed.rank()};
}

Eigen::VectorXd corrected_mean(const Eigen::ArrayXXd& rows, const ControlVariates& controls) {
  const Eigen::VectorXd mean = rows.colwise().mean().matrix().transpose();
  const Centred c = centre(controls);
  if (c.x.cols() == 0) return mean;
  const Eigen::MatrixXd y = rows.matrix().rowwise() - mean.transpose();
  return mean - regress(c.x, y).coefficients.transpose() * c.distance;
}

// Computes the corrected means without row i, for all i at once. A corrected mean is the value of
// the regression at x = the known means of the controls. Without row i, this value is
//   B^T x - x^T (X^T X)^-1 x_i e_i / (1 - h_i),   h_i = x_i^T (X^T X)^-1 x_i,
// where X includes a column of ones and e_i is the residual of row i (Belsley, Kuh & Welsch,
// Regression Diagnostics, eq. 2.1). Returns false if the regression is nearly singular, or becomes
// so without one of the rows; the caller then repeats the regression for each row.
bool leave_out_by_residuals(const Eigen::ArrayXXd& rows, const ControlVariates& controls,
                            Eigen::ArrayXXd& result) {
  constexpr double least = 1e-4;
  const Centred c = centre(controls);
  const Index graphs = rows.rows(), kept = c.x.cols();
  if (kept == 0) return false;
  Eigen::MatrixXd design(graphs, kept + 1);
  design << Eigen::VectorXd::Ones(graphs), c.x;
  const Eigen::LLT<Eigen::MatrixXd> normal(design.transpose() * design);
  if (normal.info() != Eigen::Success || normal.rcond() < least) return false;
  Eigen::VectorXd at(kept + 1);
  at << 1, -c.distance;
  const Eigen::MatrixXd solved = normal.solve(design.transpose());  // [kept + 1, graph]
  const Eigen::ArrayXd free = 1 - design.cwiseProduct(solved.transpose()).rowwise().sum().array();
  if ((free < least).any()) return false;
  const Eigen::MatrixXd fit = solved * rows.matrix();
  const Eigen::ArrayXXd residual = rows - (design * fit).array();
  const Eigen::ArrayXd weight = (solved.transpose() * at).array() / free;
  result = (at.transpose() * fit).array().replicate(graphs, 1) - residual.colwise() * weight;
  return true;
}

}  // namespace

bool enough_graphs(const ControlVariates& controls) {
  const Index count = controls.x.cols();
  return count > 0 && controls.x.rows() >= kGraphsPerControl * (count + 1);
}

Eigen::VectorXd controlled_mean(const Eigen::ArrayXXd& rows, const ControlVariates& controls) {
  check_controls(rows, controls);
  if (!enough_graphs(controls)) {
    return rows.colwise().mean().matrix().transpose();
  }
  return corrected_mean(rows, controls);
}

Eigen::ArrayXXd leave_one_out_controlled_means(const Eigen::ArrayXXd& rows,
                                               const ControlVariates& controls) {
  check_controls(rows, controls);
  // The number of graphs of the full sample decides, so that the same method is used for all i.
  if (!enough_graphs(controls)) return leave_one_out_means(rows);
  Eigen::ArrayXXd result(rows.rows(), rows.cols());
  if (leave_out_by_residuals(rows, controls, result)) return result;
  for (Index i = 0; i < rows.rows(); ++i) {
    const ControlVariates rest{without_row(controls.x, i), controls.mu};
    result.row(i) = corrected_mean(without_row(rows, i), rest).transpose().array();
  }
  return result;
}

std::vector<Jackknifed> jackknife_with_controls(int sample, const Eigen::ArrayXXd& rows,
                                                const ControlVariates& controls,
                                                const VectorFunction& f) {
  return left_out_values(sample, controlled_mean(rows, controls),
                         leave_one_out_controlled_means(rows, controls), f);
}

bool controls_help(const Jackknifed& plain, const Jackknifed& controlled,
                   const ControlVariates& controls) {
  if (!enough_graphs(controls)) return false;
  // Negated, so that NaN returns false.
  if (!(estimate(controlled).error < estimate(plain).error)) return false;
  // The jackknife's pseudo-values are the contributions of single graphs to a function of averages.
  // They can therefore be regressed on the controls. Leave-one-out values are linear functions of
  // the pseudo-values, so the regression explains the same fraction of their variance.
  const Eigen::ArrayXd& left = plain.left_out.begin()->second;
  const Centred c = centre(controls);
  if (c.x.cols() == 0) return false;  // no control varies, for example with rule add at p = 1
  const Eigen::MatrixXd y = (left - left.mean()).matrix();
  const Regression fit = regress(c.x, y);
  const Eigen::MatrixXd residual = y - c.x * fit.coefficients;
  const auto explaining = static_cast<double>(fit.rank);
  const double dof = static_cast<double>(y.size()) - 1 - explaining;
  if (explaining == 0 || !(dof > 0) || !(y.squaredNorm() > 0)) return false;
  // P(R^2 at least as large by chance), as in the F test.
  const double share = std::min(1.0, residual.squaredNorm() / y.squaredNorm());
  return boost::math::ibeta(dof / 2, explaining / 2, share) < kControlLevel;
}

std::vector<Jackknifed> jackknife_controlled(int sample, const Eigen::ArrayXXd& rows,
                                             const ControlVariates& controls,
                                             const VectorFunction& f) {
  std::vector<Jackknifed> results = jackknife_means(sample, rows, f);
  if (!enough_graphs(controls)) return results;
  const std::vector<Jackknifed> controlled = jackknife_with_controls(sample, rows, controls, f);
  for (std::size_t j = 0; j < results.size(); ++j) {
    if (controls_help(results[j], controlled[j], controls)) results[j] = controlled[j];
  }
  return results;
}

}  // namespace rewise

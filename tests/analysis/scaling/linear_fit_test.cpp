#include "analysis/scaling/linear_fit.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <vector>

#include "analysis/series/distributions.hpp"
#include "tests/analysis/synthetic.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/goodness_of_fit.hpp"

using namespace rewise;
using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST_CASE("a straight line through points with errors, by the textbook formulas") {
  MatrixXd design(3, 2);
  design << 1, 0, 1, 1, 1, 2;
  const VectorXd y = (VectorXd(3) << 1.1, 1.9, 3.2).finished();
  const VectorXd error = (VectorXd(3) << 0.1, 0.2, 0.1).finished();
  const MatrixXd covariance = error.array().square().matrix().asDiagonal();
  const LinearFit fit = fit_linear(design, y, covariance);
  // weights 100, 25, 100: S = 225, Sx = 225, Sxx = 425, Sy = 477.5, Sxy = 687.5
  const double determinant = 225 * 425.0 - 225 * 225.0;
  REQUIRE(fit.ok);
  CHECK(fit.parameters[0] == Approx((425 * 477.5 - 225 * 687.5) / determinant));
  CHECK(fit.parameters[1] == Approx((225 * 687.5 - 225 * 477.5) / determinant));
  CHECK(fit.covariance(0, 0) == Approx(425 / determinant));
  CHECK(fit.covariance(0, 1) == Approx(-225 / determinant));
  CHECK(fit.dof == 1);
  CHECK(fit.q == Approx(chi_square_q(fit.chi2, 1)));
  CHECK((fit.gain * y - fit.parameters).norm() < 1e-12);
}

TEST_CASE("correlated data: coverage of parameters and distribution of chi^2") {
  test::Dice dice(91);
  const Eigen::Index n = 6;
  MatrixXd design(n, 2), root = MatrixXd::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    design.row(i) << 1, 1.0 / static_cast<double>(i + 1);
    for (Eigen::Index j = 0; j <= i; ++j) root(i, j) = i == j ? 1.0 : 0.5 * dice.normal();
  }
  root *= 1e-3;
  const VectorXd truth = (VectorXd(2) << 2.4, -0.3).finished();
  test::Coverage limit, slope;
  std::vector<double> q_bins(10, 0);
  for (int i = 0; i < 2000; ++i) {
    const VectorXd noise = root * dice.normals(n).matrix();
    const LinearFit fit = fit_linear(design, design * truth + noise, root * root.transpose());
    REQUIRE(fit.ok);
    limit.add(fit.parameter(0), truth[0]);
    slope.add(fit.parameter(1), truth[1]);
    q_bins[static_cast<std::size_t>(std::min(9.0, 10 * fit.q))] += 1;
  }
  CHECK_COVERAGE(limit);
  CHECK_COVERAGE(slope);
  // Q is uniform: chi-square over 10 bins fails at p < 1e-3.
  CHECK(test::chi_square_test(q_bins, std::vector<double>(10, 200.0)).p_value > 1e-3);
}

TEST_CASE("scales far apart do not spoil a fit") {
  MatrixXd design(3, 2);
  design << 1, 1e-9, 1, 2e-9, 1, 4e-9;
  const VectorXd y = design * (VectorXd(2) << 3.0, 1e6).finished();
  const LinearFit fit = fit_linear(design, y, MatrixXd::Identity(3, 3) * 1e-14);
  REQUIRE(fit.ok);
  CHECK(fit.parameters[0] == Approx(3.0).epsilon(1e-9));
  CHECK(fit.parameters[1] == Approx(1e6).epsilon(1e-6));
}

TEST_CASE("singular and underdetermined fits fail") {
  const MatrixXd one_point = MatrixXd::Ones(1, 2);
  CHECK_FALSE(fit_linear(one_point, VectorXd::Ones(1), MatrixXd::Identity(1, 1)).ok);
  const MatrixXd design = MatrixXd::Ones(2, 1);
  CHECK_FALSE(fit_linear(design, VectorXd::Ones(2), MatrixXd::Ones(2, 2)).ok);  // singular
  CHECK_FALSE(fit_linear(design, VectorXd::Ones(2), MatrixXd::Zero(2, 2)).ok);
  VectorXd nan = VectorXd::Ones(2);
  nan[1] = std::nan("");
  CHECK_FALSE(fit_linear(design, nan, MatrixXd::Identity(2, 2)).ok);
  CHECK(std::isnan(fit_linear(design, nan, MatrixXd::Identity(2, 2)).parameter(0).value));
  const MatrixXd same = MatrixXd::Ones(3, 2);  // two equal columns
  CHECK_FALSE(fit_linear(same, VectorXd::Ones(3), MatrixXd::Identity(3, 3)).ok);
  const LinearFit exact =
      fit_linear(MatrixXd::Ones(1, 1), VectorXd::Ones(1), MatrixXd::Identity(1, 1));
  CHECK(exact.ok);
  CHECK(exact.dof == 0);
  CHECK(exact.q == 1);
}

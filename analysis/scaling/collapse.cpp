#include "analysis/scaling/collapse.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "analysis/scaling/simplex.hpp"
#include "src/base/all_cores.hpp"
#include "src/base/constants.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

// U of one size.
struct SizeCurve {
  double sites = 0;
  Eigen::ArrayXd temperature, value, error;  // [K], ascending temperatures
};

// Mean squared distance of all points from their best common polynomial in the scaled variable.
class PolynomialQuality {
 public:
  explicit PolynomialQuality(const std::vector<SizeCurve>& data) : data_(data) {
    Index points = 0;
    for (const SizeCurve& d : data) points += d.temperature.size();
    x_.resize(points);
    y_.resize(points);
    basis_.resize(points, kCollapseDegree + 1);
  }

  // `at`: Tc and y.
  double operator()(const VectorXd& at) {
    double widest = 0;
    Index row = 0;
    for (const SizeCurve& d : data_) {
      const Index n = d.temperature.size();
      auto x = x_.segment(row, n);
      x = (d.temperature - at[0]) * std::pow(d.sites, at[1]);
      widest = std::max(widest, x.abs().maxCoeff());
      y_.segment(row, n) = d.value / d.error;
      // Chebyshev polynomials, divided by the errors.
      basis_.col(0).segment(row, n) = 1 / d.error;
      row += n;
    }
    x_ /= widest;
    basis_.col(1) = x_ * basis_.col(0).array();
    for (Index k = 2; k <= kCollapseDegree; ++k) {
      basis_.col(k) = 2 * x_ * basis_.col(k - 1).array() - basis_.col(k - 2).array();
    }
    normal_.noalias() = basis_.transpose().lazyProduct(basis_);
    cholesky_.compute(normal_);
    if (cholesky_.info() != Eigen::Success) return kInfinity;
    coefficients_.noalias() = basis_.transpose() * y_.matrix();
    cholesky_.solveInPlace(coefficients_);
    x_.matrix() = y_.matrix();
    x_.matrix().noalias() -= basis_ * coefficients_;
    return x_.matrix().squaredNorm() / static_cast<double>(y_.size() - kCollapseDegree - 1);
  }

 private:
  const std::vector<SizeCurve>& data_;
  Eigen::ArrayXd x_, y_;
  Eigen::MatrixXd basis_, normal_;
  VectorXd coefficients_;
  Eigen::LLT<Eigen::MatrixXd> cholesky_;
};

Minimum best_collapse(const std::vector<SizeCurve>& data, const VectorXd& start,
                      const VectorXd& step) {
  PolynomialQuality quality(data);
  return minimise([&](const VectorXd& x) { return quality(x); }, start, step);
}

// The points of a curve with |x| <= range for the start values of Tc and y. They stay the same
// while the fit changes Tc and y, so that the quality is smooth.
JackknifeCurve cut(const JackknifeCurve& curve, double tc, double y, double range) {
  const Eigen::ArrayXd x = (curve.temperature - tc) * std::pow(curve.sites, y);
  std::vector<Index> kept;
  for (Index k = 0; k < x.size(); ++k) {
    if (std::abs(x[k]) <= range) kept.push_back(k);
  }
  return {curve.sample, curve.sites, curve.temperature(kept), curve.value(kept),
          curve.left_out(Eigen::all, kept)};
}

SizeCurve size_curve(const JackknifeCurve& curve) {
  SizeCurve d{curve.sites, curve.temperature, curve.value,
              Eigen::ArrayXd(curve.temperature.size())};
  for (Index k = 0; k < curve.temperature.size(); ++k) d.error[k] = curve.at(k).error;
  return d;
}

}  // namespace

Collapse fit_collapse(const std::vector<JackknifeCurve>& all_curves, double tc, double y,
                      double range) {
  std::vector<JackknifeCurve> curves;
  std::vector<SizeCurve> data;
  Index points = 0;
  double width = kInfinity;
  for (const JackknifeCurve& curve : all_curves) {
    curves.push_back(cut(curve, tc, y, range));
    data.push_back(size_curve(curves.back()));
    const Eigen::ArrayXd& t = data.back().temperature;
    points += t.size();
    if (t.size() > 0) width = std::min(width, t[t.size() - 1] - t[0]);
  }
  if (data.size() < 2 || points < kCollapseDegree + 2) {
    throw Error(ExitCode::internal, "collapse: fewer points than the polynomial needs");
  }
  // Steps that change the scaled variable by about a tenth of its range.
  const VectorXd step = Eigen::Vector2d(0.1 * width, 0.05);
  const Minimum best = best_collapse(data, Eigen::Vector2d(tc, y), step);
  bool converged = best.converged;

  std::vector<Jackknifed> numbers(2);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    Eigen::ArrayXXd left_out(curves[i].left_out.rows(), 2);
    std::vector<char> all_converged(static_cast<std::size_t>(left_out.rows()));
    constexpr std::size_t work = 10000;  // operations of a fit, about
    on_all_cores(all_converged.size(), all_converged.size() * work, [&](std::size_t one) {
      const auto g = static_cast<Index>(one);
      std::vector<SizeCurve> without = data;
      without[i].value = curves[i].left_out.row(g);
      const Minimum left = best_collapse(without, best.x, 0.1 * step);
      left_out.row(g) = left.x.transpose().array();
      all_converged[one] = left.converged;
    });
    converged = converged && std::ranges::count(all_converged, 0) == 0;
    for (Index k = 0; k < 2; ++k) {
      numbers[static_cast<std::size_t>(k)].value = best.x[k];
      numbers[static_cast<std::size_t>(k)].left_out[curves[i].sample] = left_out.col(k);
    }
  }
  const Estimates e = estimates(numbers);
  const VectorXd errors = e.covariance.diagonal().cwiseSqrt();
  return {{e.value[0], errors[0]}, {e.value[1], errors[1]}, best.value, converged};
}

}  // namespace rewise

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

struct ScaledSet {
  Eigen::ArrayXd x, y, error;
};

ScaledSet scale(const CollapseData& data, const CollapseParameters& at) {
  const double factor = std::pow(data.sites, -at.c);
  return {(data.temperature - at.tc) * std::pow(data.sites, at.y), data.value * factor,
          data.error * factor};
}

// Sums of a weighted straight-line fit.
struct LineSums {
  double k = 0, kx = 0, ky = 0, kxx = 0, kxy = 0;
  void add(double x, double y, double error) {
    const double w = 1 / (error * error);
    k += w;
    kx += w * x;
    ky += w * y;
    kxx += w * x * x;
    kxy += w * x * y;
  }
};

// The two points of `set` around x (measured from x, so that the line's value is its intercept).
void add_neighbours(LineSums& sums, const ScaledSet& set, double x) {
  const double* begin = set.x.data();
  const double* above = std::upper_bound(begin, begin + set.x.size(), x);
  const auto i = static_cast<Index>(above - begin);
  if (i == 0 || i == set.x.size()) return;
  sums.add(set.x[i - 1] - x, set.y[i - 1], set.error[i - 1]);
  sums.add(set.x[i] - x, set.y[i], set.error[i]);
}

void check_data(const std::vector<CollapseData>& data) {
  if (data.size() < 2) throw Error(ExitCode::internal, "collapse: at least 2 sizes needed");
  for (const CollapseData& d : data) {
    if (d.value.size() != d.temperature.size() || d.error.size() != d.temperature.size() ||
        !(d.error > 0).all()) {
      throw Error(ExitCode::internal, "collapse: one value and one positive error per temperature");
    }
  }
}

struct FreeExponents {
  bool y, c;
  VectorXd pack(const CollapseParameters& p) const {
    VectorXd x(1 + (y ? 1 : 0) + (c ? 1 : 0));
    x[0] = p.tc;
    if (y) x[1] = p.y;
    if (c) x[x.size() - 1] = p.c;
    return x;
  }
  CollapseParameters unpack(const VectorXd& x, const CollapseParameters& fixed) const {
    return {x[0], y ? x[1] : fixed.y, c ? x[x.size() - 1] : fixed.c};
  }
};

// Steps that change the scaled variables by about a tenth of their range.
VectorXd first_steps(const std::vector<CollapseData>& data, const FreeExponents& free) {
  double width = kInfinity;
  for (const CollapseData& d : data) {
    width = std::min(width, d.temperature[d.temperature.size() - 1] - d.temperature[0]);
  }
  return free.pack({0.1 * width, 0.05, 0.02});
}

// Mean squared distance of all points from their best common polynomial in the scaled variable.
class PolynomialQuality {
 public:
  PolynomialQuality(const std::vector<CollapseData>& data, int degree)
      : data_(data), degree_(degree) {
    Index points = 0;
    for (const CollapseData& d : data) points += d.temperature.size();
    x_.resize(points);
    y_.resize(points);
    basis_.resize(points, degree + 1);
  }

  double operator()(const CollapseParameters& at) {
    double widest = 0;
    Index row = 0;
    for (const CollapseData& d : data_) {
      const Index n = d.temperature.size();
      auto x = x_.segment(row, n);
      x = (d.temperature - at.tc) * std::pow(d.sites, at.y);
      widest = std::max(widest, x.abs().maxCoeff());
      y_.segment(row, n) = d.value / d.error;
      // Chebyshev polynomials over the errors
      basis_.col(0).segment(row, n) = std::pow(d.sites, at.c) / d.error;
      row += n;
    }
    x_ /= widest;
    if (degree_ > 0) basis_.col(1) = x_ * basis_.col(0).array();
    for (Index k = 2; k <= degree_; ++k) {
      basis_.col(k) = 2 * x_ * basis_.col(k - 1).array() - basis_.col(k - 2).array();
    }
    normal_.noalias() = basis_.transpose().lazyProduct(basis_);
    cholesky_.compute(normal_);
    if (cholesky_.info() != Eigen::Success) return kInfinity;
    coefficients_.noalias() = basis_.transpose() * y_.matrix();
    cholesky_.solveInPlace(coefficients_);
    x_.matrix() = y_.matrix();
    x_.matrix().noalias() -= basis_ * coefficients_;
    return x_.matrix().squaredNorm() / static_cast<double>(y_.size() - degree_ - 1);
  }

 private:
  const std::vector<CollapseData>& data_;
  const int degree_;
  Eigen::ArrayXd x_, y_;
  Eigen::MatrixXd basis_, normal_;
  VectorXd coefficients_;
  Eigen::LLT<Eigen::MatrixXd> cholesky_;
};

// Curves cut to |x| <= range at the start values; the cut must not move while parameters do.
JackknifeCurve cut(const JackknifeCurve& curve, const CollapseParameters& at, double range) {
  if (range <= 0) return curve;
  const Eigen::ArrayXd x = (curve.temperature - at.tc) * std::pow(curve.sites, at.y);
  std::vector<Index> kept;
  for (Index k = 0; k < x.size(); ++k) {
    if (std::abs(x[k]) <= range) kept.push_back(k);
  }
  return {curve.sample, curve.sites, curve.temperature(kept), curve.value(kept),
          curve.left_out(Eigen::all, kept)};
}

// S minimised over all but parameter `held`, which stays at `value`.
double profile(const std::vector<CollapseData>& data, const CollapseParameters& fixed,
               const FreeExponents& free, double range, const VectorXd& best, const VectorXd& step,
               Index held, double value) {
  const Index others = best.size() - 1;
  const auto expand = [&](const VectorXd& rest) {
    VectorXd x(best.size());
    x << rest.head(held), value, rest.tail(others - held);
    return x;
  };
  VectorXd start(others), rest_step(others);
  start << best.head(held), best.tail(others - held);
  rest_step << step.head(held), step.tail(others - held);
  return minimise(
             [&](const VectorXd& rest) {
               return collapse_quality(data, free.unpack(expand(rest), fixed), range);
             },
             start, 0.2 * rest_step, 1e-6, 400)
      .value;
}

// Distance in one direction at which the profile has risen by 1.
double reach(const std::function<double(double)>& risen, double step) {
  double inside = 0, outside = step;
  for (int i = 0; i < 30 && risen(outside) < 1; ++i) {
    inside = outside;
    outside *= 2;
  }
  for (int i = 0; i < 25; ++i) {
    const double middle = 0.5 * (inside + outside);
    (risen(middle) < 1 ? inside : outside) = middle;
  }
  return std::abs(0.5 * (inside + outside));
}

Collapse with_errors(const VectorXd& best, const VectorXd& errors, const CollapseParameters& start,
                     const FreeExponents& free, double quality, bool converged) {
  const CollapseParameters value = free.unpack(best, start);
  const CollapseParameters error = free.unpack(errors, {0, 0, 0});
  return {{value.tc, error.tc}, {value.y, error.y}, {value.c, error.c}, quality, converged};
}

std::vector<CollapseData> as_data(const std::vector<JackknifeCurve>& curves) {
  std::vector<CollapseData> data;
  for (const JackknifeCurve& curve : curves) {
    CollapseData d{curve.sites, curve.temperature, curve.value,
                   Eigen::ArrayXd(curve.temperature.size())};
    for (Index k = 0; k < curve.temperature.size(); ++k) d.error[k] = curve.at(k).error;
    data.push_back(std::move(d));
  }
  return data;
}

}  // namespace

double collapse_quality(const std::vector<CollapseData>& data, const CollapseParameters& at,
                        double range) {
  std::vector<ScaledSet> sets;
  for (const CollapseData& d : data) sets.push_back(scale(d, at));
  double sum = 0;
  int terms = 0, points = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (Index j = 0; j < sets[i].x.size(); ++j) {
      const double x = sets[i].x[j];
      if (range > 0 && std::abs(x) > range) continue;
      ++points;
      LineSums line;
      for (std::size_t other = 0; other < sets.size(); ++other) {
        if (other != i) add_neighbours(line, sets[other], x);
      }
      const double determinant = line.k * line.kxx - line.kx * line.kx;
      if (!(determinant > 0)) continue;
      const double y = (line.kxx * line.ky - line.kx * line.kxy) / determinant;
      const double variance = line.kxx / determinant;
      const double distance = sets[i].y[j] - y;
      sum += distance * distance / (sets[i].error[j] * sets[i].error[j] + variance);
      ++terms;
    }
  }
  // Otherwise parameters for which curves hardly overlap would be a spurious minimum.
  return 3 * terms < points || terms == 0 ? kInfinity : sum / terms;
}

Collapse fit_collapse(const std::vector<CollapseData>& data, const CollapseParameters& start,
                      const CollapseOptions& options) {
  check_data(data);
  const FreeExponents free{options.free_y, options.free_c};
  const VectorXd step = first_steps(data, free);
  const Minimum best = minimise(
      [&](const VectorXd& x) {
        return collapse_quality(data, free.unpack(x, start), options.range);
      },
      free.pack(start), step);
  VectorXd errors = VectorXd::Zero(best.x.size());
  for (Index k = 0; k < best.x.size() && best.converged; ++k) {
    const auto risen = [&](double by) {
      return profile(data, start, free, options.range, best.x, step, k, best.x[k] + by) -
             best.value;
    };
    errors[k] = 0.5 * (reach(risen, 0.01 * step[k]) + reach(risen, -0.01 * step[k]));
  }
  return with_errors(best.x, errors, start, free, best.value, best.converged);
}

Collapse fit_collapse(const std::vector<JackknifeCurve>& all_curves,
                      const CollapseParameters& start, const CollapseOptions& options) {
  std::vector<JackknifeCurve> curves;
  for (const JackknifeCurve& curve : all_curves) curves.push_back(cut(curve, start, options.range));
  std::vector<CollapseData> data = as_data(curves);
  check_data(data);
  Index points = 0;
  for (const CollapseData& d : data) points += d.temperature.size();
  if (points < options.degree + 2) {
    throw Error(ExitCode::internal, "collapse: fewer points than the polynomial needs");
  }
  const FreeExponents free{options.free_y, options.free_c};
  const VectorXd step = first_steps(data, free);
  PolynomialQuality of_data(data, options.degree);
  const Minimum best = minimise([&](const VectorXd& x) { return of_data(free.unpack(x, start)); },
                                free.pack(start), step);
  bool converged = best.converged;

  std::vector<Jackknifed> numbers(static_cast<std::size_t>(best.x.size()));
  for (std::size_t i = 0; i < curves.size(); ++i) {
    Eigen::ArrayXXd left_out(curves[i].left_out.rows(), best.x.size());
    std::vector<char> all_converged(static_cast<std::size_t>(left_out.rows()));
    constexpr std::size_t work = 10000;  // of a fit
    on_all_cores(all_converged.size(), all_converged.size() * work, [&](std::size_t one) {
      const auto g = static_cast<Index>(one);
      std::vector<CollapseData> without = data;
      without[i].value = curves[i].left_out.row(g);
      PolynomialQuality of_those(without, options.degree);
      const Minimum left = minimise(
          [&](const VectorXd& x) { return of_those(free.unpack(x, start)); }, best.x, 0.1 * step);
      left_out.row(g) = left.x.transpose().array();
      all_converged[one] = left.converged;
    });
    converged = converged && std::ranges::count(all_converged, 0) == 0;
    for (Index k = 0; k < best.x.size(); ++k) {
      numbers[static_cast<std::size_t>(k)].value = best.x[k];
      numbers[static_cast<std::size_t>(k)].left_out[curves[i].sample] = left_out.col(k);
    }
  }
  const Estimates e = estimates(numbers);
  return with_errors(e.value, e.covariance.diagonal().cwiseSqrt(), start, free, best.value,
                     converged);
}

}  // namespace rewise

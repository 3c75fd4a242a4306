#include "analysis/series/correlation_curve.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/series/jackknife.hpp"
#include "src/base/constants.hpp"

namespace rewise {
namespace {

constexpr Eigen::Index kFewGroups = 4;  // with fewer groups, their spread is uncertain

// The x where y falls to the level between points i - 1 and i.
double passage(const Eigen::ArrayXd& x, const Eigen::ArrayXd& y, double level, Eigen::Index i) {
  if (i == y.size()) return kInfinity;
  if (i == 0) return x[0];
  return x[i - 1] + (x[i] - x[i - 1]) * (y[i - 1] - level) / (y[i - 1] - y[i]);
}

double last_passage(const Eigen::ArrayXd& x, const Eigen::ArrayXd& y, double level) {
  Eigen::Index i = y.size();
  while (i > 0 && y[i - 1] <= level) --i;
  return passage(x, y, level, i);
}

double first_passage(const Eigen::ArrayXd& x, const Eigen::ArrayXd& y, double level) {
  Eigen::Index i = 0;
  while (i < y.size() && y[i] > level) ++i;
  return passage(x, y, level, i);
}

// Applies `errors`, a function of rows, to the means of groups of `members` rows. With few groups,
// the result is never smaller than that for all rows.
template <class F>
Eigen::ArrayXd over_groups(const Eigen::ArrayXXd& rows, Eigen::Index members, const F& errors) {
  const Eigen::Index groups = rows.rows() / members;
  if (groups < 2) return errors(rows);
  const Eigen::ArrayXd group_errors = errors(group_means(rows, members));
  if (groups >= kFewGroups || members == 1) return group_errors;
  const Eigen::ArrayXd row_errors = errors(rows);
  return (group_errors.isFinite() && row_errors.isFinite())
      .select(group_errors.max(row_errors), kNaN);
}

// Jackknife error over groups of f(mean row).
Eigen::ArrayXd jackknife_errors(const Eigen::ArrayXXd& rows, Eigen::Index members,
                                const VectorFunction& f) {
  return over_groups(rows, members, [&](const Eigen::ArrayXXd& some) {
    const std::vector<Jackknifed> numbers = jackknife_means(0, some, f);
    Eigen::ArrayXd errors(static_cast<Eigen::Index>(numbers.size()));
    std::ranges::transform(numbers, errors.begin(),
                           [](const auto& n) { return estimate(n).error; });
    return errors;
  });
}

template <class F>
Value time_of(const F& passage, const Eigen::ArrayXd& x, const Eigen::ArrayXXd& rows, double level,
              Eigen::Index members) {
  const auto time = [&](const Eigen::VectorXd& mean) {
    return Eigen::VectorXd::Constant(1, passage(x, mean.array(), level)).eval();
  };
  const double value = time(rows.colwise().mean().transpose())[0];
  return {value, std::isfinite(value) ? jackknife_errors(rows, members, time)[0] : kNaN};
}

// For each replica and lag t: the mean of x(s) x(s + t), about the mean of all replicas.
Eigen::ArrayXXd products_at(RealSeriesRef series, const std::vector<Eigen::Index>& lags) {
  const RealSeries off = series - series.mean();
  Eigen::ArrayXXd products(series.cols(), static_cast<Eigen::Index>(lags.size()));
  for (std::size_t k = 0; k < lags.size(); ++k) {
    const Eigen::Index pairs = series.rows() - lags[k];
    products.col(static_cast<Eigen::Index>(k)) =
        (off.topRows(pairs) * off.bottomRows(pairs)).colwise().mean().transpose();
  }
  return products;
}

}  // namespace

MeanCurve mean_curve(const Eigen::ArrayXXd& rows) {
  const auto n = static_cast<double>(rows.rows());
  MeanCurve curve;
  curve.value = rows.colwise().mean().transpose();
  curve.error = Eigen::ArrayXd::Constant(rows.cols(), kNaN);
  if (rows.rows() < 2) return curve;
  const Eigen::ArrayXXd off = rows.rowwise() - curve.value.transpose();
  curve.error = (off.square().colwise().sum().transpose() / (n * (n - 1))).sqrt();
  return curve;
}

Eigen::ArrayXXd group_means(const Eigen::ArrayXXd& rows, Eigen::Index members) {
  const Eigen::Index groups = rows.rows() / members;
  Eigen::ArrayXXd means(groups, rows.cols());
  for (Eigen::Index g = 0; g < groups; ++g) {
    means.row(g) = rows.middleRows(g * members, members).colwise().mean();
  }
  return means;
}

MeanCurve mean_over_groups(const Eigen::ArrayXXd& rows, Eigen::Index members) {
  return {rows.colwise().mean().transpose(),
          over_groups(rows, members, [](const auto& some) { return mean_curve(some).error; })};
}

Value time_to_level(const Eigen::ArrayXd& x, const Eigen::ArrayXXd& rows, double level,
                    Eigen::Index members) {
  return time_of(last_passage, x, rows, level, members);
}

Value first_time_at_level(const Eigen::ArrayXd& x, const Eigen::ArrayXXd& rows, double level,
                          Eigen::Index members) {
  return time_of(first_passage, x, rows, level, members);
}

MeanCurve autocorrelation_curve(RealSeriesRef series, const std::vector<Eigen::Index>& lags,
                                Eigen::Index members) {
  std::vector<Eigen::Index> with_zero = lags;
  with_zero.push_back(0);
  const Eigen::ArrayXXd products = products_at(series, with_zero);
  const auto points = static_cast<Eigen::Index>(lags.size());
  const auto rho = [points](const Eigen::VectorXd& mean) -> Eigen::VectorXd {
    return mean.head(points) / mean[points];
  };
  const Eigen::VectorXd mean = products.colwise().mean().transpose();
  if (!(mean[points] > 0)) return {Eigen::ArrayXd::Zero(points), Eigen::ArrayXd::Zero(points)};
  return {rho(mean), jackknife_errors(products, members, rho)};
}

double tau_error(RealSeriesRef series, Eigen::Index window, Eigen::Index members) {
  std::vector<Eigen::Index> lags(static_cast<std::size_t>(window) + 1);
  std::iota(lags.begin(), lags.end(), Eigen::Index{0});
  const auto tau = [](const Eigen::VectorXd& mean) {
    return Eigen::VectorXd::Constant(1, mean.sum() / mean[0] - 0.5).eval();
  };
  return jackknife_errors(products_at(series, lags), members, tau)[0];
}

}  // namespace rewise

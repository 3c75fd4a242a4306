#include "analysis/series/correlation_curve.hpp"

#include <cmath>
#include <limits>

#include "analysis/series/jackknife.hpp"

namespace rewise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double settles_below(const Eigen::ArrayXd& x, const Eigen::ArrayXd& y, double level) {
  Eigen::Index i = y.size();
  while (i > 0 && y[i - 1] <= level) --i;
  if (i == y.size()) return kInfinity;
  if (i == 0) return x[0];
  return x[i - 1] + (x[i] - x[i - 1]) * (y[i - 1] - level) / (y[i - 1] - y[i]);
}

}  // namespace

MeanCurve mean_curve(const Eigen::ArrayXXd& rows) {
  const auto n = static_cast<double>(rows.rows());
  MeanCurve curve;
  curve.value = rows.colwise().mean().transpose();
  curve.error = Eigen::ArrayXd::Constant(rows.cols(), kNan);
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
  constexpr Eigen::Index few = 4;
  const Eigen::Index groups = rows.rows() / members;
  MeanCurve curve = mean_curve(rows);
  if (groups < 2) return curve;
  const Eigen::ArrayXd error = mean_curve(group_means(rows, members)).error;
  curve.error = groups < few && members > 1 ? error.max(curve.error) : error;
  return curve;
}

Value time_to_level(const Eigen::ArrayXd& x, const Eigen::ArrayXXd& rows, double level) {
  const double value = settles_below(x, rows.colwise().mean().transpose(), level);
  if (!std::isfinite(value) || rows.rows() < 2) return {value, kNan};
  const auto n = static_cast<double>(rows.rows());
  const Eigen::ArrayXXd left_out = leave_one_out_means(rows);
  Eigen::ArrayXd times(rows.rows());
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    times[i] = settles_below(x, left_out.row(i).transpose(), level);
  }
  if (!times.allFinite()) return {value, kNan};
  return {value, std::sqrt((n - 1) / n * (times - times.mean()).square().sum())};
}

MeanCurve autocorrelation_curve(RealSeriesRef series, const std::vector<Eigen::Index>& lags) {
  const Eigen::Index times = series.rows(), replicas = series.cols();
  const auto points = static_cast<Eigen::Index>(lags.size());
  const RealSeries off = series - series.mean();
  Eigen::ArrayXXd products(replicas, points + 1);  // the last column: lag 0
  for (Eigen::Index k = 0; k <= points; ++k) {
    const Eigen::Index lag = k < points ? lags[static_cast<std::size_t>(k)] : 0;
    const Eigen::Index pairs = times - lag;
    products.col(k) = (off.topRows(pairs) * off.bottomRows(pairs)).colwise().mean().transpose();
  }
  MeanCurve curve{Eigen::ArrayXd::Zero(points), Eigen::ArrayXd::Zero(points)};
  const Eigen::ArrayXd mean = products.colwise().mean().transpose();
  if (!(mean[points] > 0)) return curve;
  curve.value = mean.head(points) / mean[points];
  if (replicas < 2) {
    curve.error = Eigen::ArrayXd::Constant(points, kNan);
    return curve;
  }
  const Eigen::ArrayXXd left_out = leave_one_out_means(products);
  const Eigen::ArrayXXd rho = left_out.leftCols(points).colwise() / left_out.col(points);
  const Eigen::ArrayXXd spread = rho.rowwise() - rho.colwise().mean();
  const auto n = static_cast<double>(replicas);
  curve.error = ((n - 1) / n * spread.square().colwise().sum().transpose()).sqrt();
  return curve;
}

}  // namespace rewise

#include "analysis/series/size_histogram.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/series/correlation_curve.hpp"

namespace rewise {
namespace {

// Mean of s^-a over the whole numbers first .. last: the sum itself if it is short, else the
// Euler-Maclaurin formula (error below 1e-9 for first >= 30).
double mean_power(double first, double last, double a) {
  const double count = last - first + 1;
  if (count <= 1000) {
    double sum = 0;
    for (double s = first; s <= last; ++s) sum += std::pow(s, -a);
    return sum / count;
  }
  const double integral = std::abs(a - 1) < 1e-9
                              ? std::log(last / first)
                              : (std::pow(first, 1 - a) - std::pow(last, 1 - a)) / (a - 1);
  const double ends = 0.5 * (std::pow(first, -a) + std::pow(last, -a));
  const double slopes = a / 12 * (std::pow(first, -a - 1) - std::pow(last, -a - 1));
  return (integral + ends + slopes) / count;
}

}  // namespace

std::vector<std::uint64_t> logarithmic_bins(std::uint64_t most, int per_decade) {
  std::vector<std::uint64_t> borders{1};
  const double factor = std::pow(10.0, 1.0 / per_decade);
  while (borders.back() <= most) {
    const auto next = static_cast<std::uint64_t>(
        std::llround(std::ceil(static_cast<double>(borders.back()) * factor)));
    borders.push_back(std::max(next, borders.back() + 1));
  }
  borders.back() = most + 1;
  return borders;
}

std::size_t bin_of(const std::vector<std::uint64_t>& borders, std::uint64_t s) {
  const auto after = std::upper_bound(borders.begin(), borders.end(), s);
  return static_cast<std::size_t>(after - borders.begin()) - 1;
}

SizeHistogram size_histogram(const std::vector<std::uint64_t>& borders,
                             const Eigen::ArrayXXd& counts, Eigen::Index group) {
  const Eigen::Index bins = counts.cols();
  Eigen::ArrayXXd density = counts / counts.row(0).sum();
  SizeHistogram h{Eigen::ArrayXd(bins), {}, {}};
  for (Eigen::Index k = 0; k < bins; ++k) {
    const auto first = static_cast<double>(borders[static_cast<std::size_t>(k)]);
    const auto end = static_cast<double>(borders[static_cast<std::size_t>(k) + 1]);
    h.size[k] = std::sqrt(first * (end - 1));
    density.col(k) /= end - first;
  }
  const MeanCurve mean = mean_over_groups(density, group);
  h.density = mean.value;
  h.error = mean.error;
  return h;
}

SizeLaw fit_size_law(const std::vector<std::uint64_t>& borders, const Eigen::ArrayXXd& counts,
                     double from, double to) {
  std::vector<Eigen::Index> used;
  for (Eigen::Index k = 0; k < counts.cols(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    const bool inside =
        static_cast<double>(borders[at]) >= from && static_cast<double>(borders[at + 1] - 1) <= to;
    if (inside && 10 * (counts.col(k) > 0).count() >= counts.rows()) used.push_back(k);
  }
  SizeLaw law;
  law.bins = static_cast<int>(used.size());
  const auto bins = static_cast<Eigen::Index>(used.size());
  const auto members = static_cast<double>(counts.rows());
  if (bins < 3 || counts.rows() < 4 * bins) return law;
  law.from = static_cast<double>(borders[static_cast<std::size_t>(used.front())]);
  law.to = static_cast<double>(borders[static_cast<std::size_t>(used.back()) + 1] - 1);

  Eigen::ArrayXXd share(counts.rows(), bins);
  for (Eigen::Index i = 0; i < bins; ++i) {
    share.col(i) = counts.col(used[static_cast<std::size_t>(i)]) / counts.row(0).sum();
  }
  const Eigen::ArrayXd mean = share.colwise().mean().transpose();
  const Eigen::MatrixXd off =
      ((share.rowwise() - mean.transpose()).rowwise() / mean.transpose()).matrix();
  const double hartlap = (members - 1) / (members - static_cast<double>(bins) - 2);
  const Eigen::MatrixXd covariance = off.transpose() * off * (hartlap / (members * (members - 1)));

  double a = 1;
  LinearFit fit;
  for (int round = 0; round < 12; ++round) {
    Eigen::MatrixXd design(bins, 2);
    Eigen::VectorXd y(bins);
    for (Eigen::Index i = 0; i < bins; ++i) {
      const auto at = static_cast<std::size_t>(used[static_cast<std::size_t>(i)]);
      const auto first = static_cast<double>(borders[at]);
      const auto last = static_cast<double>(borders[at + 1] - 1);
      // The s whose s^-a equals the mean of the bin, for the current exponent.
      const double representative = -std::log(mean_power(first, last, a)) / a;
      design.row(i) << 1, -representative;
      y[i] = std::log(mean[i] / (last - first + 1));
    }
    fit = fit_linear(design, y, covariance);
    if (!fit.ok) return law;
    const double before = a;
    a = fit.parameters[1];
    if (std::abs(a) < 1e-6) a = 1e-6;
    if (std::abs(a - before) < 1e-10) break;
  }
  law.exponent = fit.parameter(1);
  law.amplitude = std::exp(fit.parameters[0]);
  static_cast<FitQuality&>(law) = fit;
  return law;
}

}  // namespace rewise

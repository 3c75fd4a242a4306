#include "analysis/series/autocorrelation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/series/distributions.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

using Flat = Eigen::ArrayXd;  // [time * replicas + replica], centred

Flat centred(RealSeriesRef series) {
  Flat flat(series.size());
  const double mean = series.mean();
  for (Eigen::Index t = 0; t < series.rows(); ++t) {
    flat.segment(t * series.cols(), series.cols()) = series.row(t).transpose() - mean;
  }
  return flat;
}

using Stretch = std::pair<Eigen::Index, Eigen::Index>;  // first time, times

std::vector<Stretch> stretches(std::span<const Eigen::Index> starts, Eigen::Index times) {
  std::vector<Stretch> list;
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const Eigen::Index end = k + 1 < starts.size() ? starts[k + 1] : times;
    list.push_back({starts[k], end - starts[k]});
  }
  return list;
}

// Gamma(t), eq. (31). With the replica index running fastest a lag is one offset for all of them.
double gamma_at(const Flat& flat, Eigen::Index replicas, std::span<const Stretch> stretches,
                Eigen::Index lag) {
  double sum = 0;
  Eigen::Index terms = 0;
  for (const auto& [first, times] : stretches) {
    if (times <= lag) continue;
    const Eigen::Index count = (times - lag) * replicas;
    sum += (flat.segment(first * replicas, count) * flat.segment((first + lag) * replicas, count))
               .sum();
    terms += count;
  }
  return sum / static_cast<double>(terms);
}

// Sums lags until the automatic window closes, eqs. (50)-(52), or to `most` of the longest stretch;
// gamma[t], t = 0 .. W.
std::vector<double> windowed_gamma(const Flat& flat, Eigen::Index replicas,
                                   std::span<const Stretch> stretches, double most, double s,
                                   bool& window_found) {
  std::vector<double> gamma{gamma_at(flat, replicas, stretches, 0)};
  const double n = static_cast<double>(flat.size());
  Eigen::Index longest = 0;
  for (const Stretch& stretch : stretches) longest = std::max(longest, stretch.second);
  const auto last = static_cast<Eigen::Index>(most * static_cast<double>(longest));
  double sum = 0;
  window_found = false;
  for (Eigen::Index w = 1; w <= last; ++w) {
    gamma.push_back(gamma_at(flat, replicas, stretches, w));
    sum += gamma.back() / gamma.front();
    const double tau = sum <= 0 ? std::numeric_limits<double>::epsilon() : s / std::log1p(1 / sum);
    const double t = static_cast<double>(w);
    if (std::exp(-t / tau) - tau / std::sqrt(t * n) < 0) {
      window_found = true;
      break;
    }
  }
  return gamma;
}

double twice_sum(const std::vector<double>& gamma) {
  double sum = 0;
  for (std::size_t t = 1; t < gamma.size(); ++t) sum += gamma[t];
  return gamma.front() + 2 * sum;
}

void check_series(RealSeriesRef series) {
  if (series.rows() < 2 || series.cols() < 1) {
    throw Error(ExitCode::internal, "gamma_method: a series of at least 2 times is needed");
  }
}

}  // namespace

namespace {

GammaResult gamma_of(RealSeriesRef series, std::span<const Eigen::Index> starts, double most,
                     double s) {
  check_series(series);
  const Eigen::Index times = series.rows(), replicas = series.cols();
  const double n = static_cast<double>(series.size());
  GammaResult result;
  result.mean.value = series.mean();
  result.tau = {0.5, 0};
  if (series.maxCoeff() == series.minCoeff()) {
    result.mean.value = series(0, 0);
    return result;
  }

  const Flat flat = centred(series);
  std::vector<double> gamma =
      windowed_gamma(flat, replicas, stretches(starts, times), most, s, result.window_found);
  double c = twice_sum(gamma);
  // Anticorrelations that sum to nothing, or less: the variance alone is the safe estimate.
  if (c <= 0) {
    gamma.resize(1);
    c = gamma.front();
  }
  for (double& g : gamma) g += c / n;  // the mean is not known but estimated: eq. (32)
  c = twice_sum(gamma);

  const double w = static_cast<double>(gamma.size() - 1);
  result.window = static_cast<Eigen::Index>(gamma.size()) - 1;
  result.variance = gamma.front();
  result.mean.error = std::sqrt(c / n);
  result.error_of_error = result.mean.error * std::sqrt((w + 0.5) / n);
  const double tau = c / (2 * gamma.front());
  result.tau = {tau, 2 * tau * std::sqrt(std::max(w + 0.5 - tau, 0.5) / n)};
  if (replicas > 1) {
    const Eigen::ArrayXd means = series.colwise().mean().transpose();
    const double chi2 = (means - result.mean.value).square().sum() * static_cast<double>(times) / c;
    result.replica_q = chi_square_q(chi2, static_cast<double>(replicas - 1));
  }
  return result;
}

}  // namespace

GammaResult gamma_method(RealSeriesRef series, double s) {
  const Eigen::Index start[] = {0};
  return gamma_of(series, start, 0.5, s);
}

GammaResult gamma_method(RealSeriesRef series, std::span<const Eigen::Index> starts, double s) {
  return gamma_of(series, starts, 0.75, s);
}

Eigen::ArrayXd autocorrelation(RealSeriesRef series, Eigen::Index max_lag) {
  check_series(series);
  const Flat flat = centred(series);
  Eigen::ArrayXd rho(std::min(max_lag, series.rows() - 1) + 1);
  const Stretch whole[] = {{0, series.rows()}};
  for (Eigen::Index t = 0; t < rho.size(); ++t) rho[t] = gamma_at(flat, series.cols(), whole, t);
  return rho / rho[0];
}

}  // namespace rewise

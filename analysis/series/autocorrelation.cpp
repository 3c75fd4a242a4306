#include "analysis/series/autocorrelation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/series/distributions.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

using Stretch = std::pair<Eigen::Index, Eigen::Index>;  // first time, times

std::vector<Stretch> stretches(std::span<const Eigen::Index> starts, Eigen::Index times) {
  std::vector<Stretch> list;
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const Eigen::Index end = k + 1 < starts.size() ? starts[k + 1] : times;
    list.push_back({starts[k], end - starts[k]});
  }
  return list;
}

constexpr Eigen::Index kLags = 4;  // lags per pass: each value is loaded once for all of them
using Lanes = Eigen::Array4d;

// sum over i < count[l] of x[i] x[i + (first + l) replicas] for each l; counts descend. Each sum
// consists of four partial sums, over i = 0, 1, 2, 3 mod 4, which are added as (0 + 2) + (1 + 3).
// The result is therefore the same to the bit for any number of lags per pass.
template <Eigen::Index lags>
void sums_of_products(const double* x, Eigen::Index replicas, Eigen::Index first,
                      const Eigen::Index* count, double* sums) {
  const double* y[lags];
  Lanes lanes[lags];
  for (Eigen::Index l = 0; l < lags; ++l) {
    y[l] = x + (first + l) * replicas;
    lanes[l] = Lanes::Zero();
  }
  const Eigen::Index common = count[lags - 1] / 4 * 4;
  for (Eigen::Index i = 0; i < common; i += 4) {
    const Lanes own = Lanes::Map(x + i);
    for (Eigen::Index l = 0; l < lags; ++l) lanes[l] += own * Lanes::Map(y[l] + i);
  }
  for (Eigen::Index l = 0; l < lags; ++l) {
    Eigen::Index i = common;
    for (; i + 4 <= count[l]; i += 4) lanes[l] += Lanes::Map(x + i) * Lanes::Map(y[l] + i);
    Eigen::Array2d pair(lanes[l][0] + lanes[l][2], lanes[l][1] + lanes[l][3]);
    for (; i + 2 <= count[l]; i += 2) {
      pair += Eigen::Array2d::Map(x + i) * Eigen::Array2d::Map(y[l] + i);
    }
    sums[l] = pair[0] + pair[1];
    for (; i < count[l]; ++i) sums[l] += x[i] * y[l][i];
  }
}

// Appends Gamma(t), eq. (31), of the next kLags lags, or, near `last`, of the next lags one by one.
// The replica index runs fastest, so that a lag is the same offset for all replicas.
void add_gammas(const RealSeries& centred, std::span<const Stretch> stretches, Eigen::Index last,
                std::vector<double>& gamma) {
  const Eigen::Index replicas = centred.cols();
  const auto first = static_cast<Eigen::Index>(gamma.size());
  const Eigen::Index lags = std::min(kLags, last - first + 1);
  double sum[kLags] = {};
  Eigen::Index terms[kLags] = {};
  for (const auto& [start, times] : stretches) {
    double own[kLags];
    Eigen::Index count[kLags];
    for (Eigen::Index l = 0; l < kLags; ++l) {
      count[l] = std::max<Eigen::Index>(times - first - l, 0) * replicas;
    }
    const double* x = centred.data() + start * replicas;
    if (lags == kLags) {
      sums_of_products<kLags>(x, replicas, first, count, own);
    } else {
      for (Eigen::Index l = 0; l < lags; ++l) {
        sums_of_products<1>(x, replicas, first + l, count + l, own + l);
      }
    }
    for (Eigen::Index l = 0; l < lags; ++l) {
      if (count[l] == 0) continue;
      sum[l] += own[l];
      terms[l] += count[l];
    }
  }
  for (Eigen::Index l = 0; l < lags; ++l) gamma.push_back(sum[l] / static_cast<double>(terms[l]));
}

// Sums lags until the automatic window closes, eqs. (50)-(52), or up to the share `most` of the
// longest part. Sets gamma[t], t = 0 .. W.
std::vector<double> windowed_gamma(const RealSeries& centred, std::span<const Stretch> stretches,
                                   double most, double s, bool& window_found) {
  Eigen::Index longest = 0;
  for (const Stretch& stretch : stretches) longest = std::max(longest, stretch.second);
  const auto last = static_cast<Eigen::Index>(most * static_cast<double>(longest));
  std::vector<double> gamma;
  add_gammas(centred, stretches, last, gamma);
  const double n = static_cast<double>(centred.size());
  double sum = 0;
  window_found = false;
  for (Eigen::Index w = 1; w <= last; ++w) {
    const auto known = static_cast<Eigen::Index>(gamma.size());
    if (w == known) add_gammas(centred, stretches, last, gamma);
    sum += gamma[static_cast<std::size_t>(w)] / gamma.front();
    const double tau = sum <= 0 ? std::numeric_limits<double>::epsilon() : s / std::log1p(1 / sum);
    const double t = static_cast<double>(w);
    if (std::exp(-t / tau) - tau / std::sqrt(t * n) < 0) {
      window_found = true;
      gamma.resize(static_cast<std::size_t>(w) + 1);
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

// Subtracts the mean from the series.
GammaResult gamma_of(RealSeries& centred, std::span<const Eigen::Index> starts, double most,
                     double s) {
  check_series(centred);
  const RealSeriesRef series = centred;  // not centred yet
  const Eigen::Index times = series.rows(), replicas = series.cols();
  const double n = static_cast<double>(series.size());
  GammaResult result;
  result.mean.value = series.mean();
  result.tau = {0.5, 0};
  if (series.maxCoeff() == series.minCoeff()) {
    result.mean.value = series(0, 0);
    return result;
  }

  const Eigen::ArrayXd means = series.colwise().mean().transpose();
  centred -= result.mean.value;
  std::vector<double> gamma =
      windowed_gamma(centred, stretches(starts, times), most, s, result.window_found);
  double c = twice_sum(gamma);
  // If anticorrelations make the sum zero or negative, the variance alone is a safe estimate.
  if (c <= 0) {
    gamma.resize(1);
    c = gamma.front();
  }
  for (double& g : gamma) g += c / n;  // corrects for the estimated mean, eq. (32)
  c = twice_sum(gamma);

  const double w = static_cast<double>(gamma.size() - 1);
  result.window = static_cast<Eigen::Index>(gamma.size()) - 1;
  result.variance = gamma.front();
  result.mean.error = std::sqrt(c / n);
  const double tau = c / (2 * gamma.front());
  result.tau = {tau, 2 * tau * std::sqrt(std::max(w + 0.5 - tau, 0.5) / n)};
  if (replicas > 1) {
    const double chi2 = (means - result.mean.value).square().sum() * static_cast<double>(times) / c;
    result.replica_q = chi_square_q(chi2, static_cast<double>(replicas - 1));
  }
  return result;
}

}  // namespace

GammaResult gamma_method(RealSeries series, double s) {
  const Eigen::Index start[] = {0};
  return gamma_of(series, start, 0.5, s);
}

GammaResult gamma_method(RealSeries series, std::span<const Eigen::Index> starts, double s) {
  return gamma_of(series, starts, 0.75, s);
}

Eigen::ArrayXd autocorrelation(RealSeriesRef series, Eigen::Index max_lag) {
  check_series(series);
  const RealSeries centred = series - series.mean();
  const Eigen::Index last = std::min(max_lag, series.rows() - 1);
  const Stretch whole[] = {{0, series.rows()}};
  std::vector<double> gamma;
  while (std::ssize(gamma) <= last) add_gammas(centred, whole, last, gamma);
  return Eigen::ArrayXd::Map(gamma.data(), last + 1) / gamma.front();
}

}  // namespace rewise

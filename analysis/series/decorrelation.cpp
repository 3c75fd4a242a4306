#include "analysis/series/decorrelation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/base/constants.hpp"
#include "src/base/error.hpp"

namespace rewise {
Value decorrelated_rate(Value tau, Value seconds_per_cycle) {
  const double rate = 1 / (2 * tau.value * seconds_per_cycle.value);
  return {rate, rate * std::hypot(tau.error / tau.value,
                                  seconds_per_cycle.error / seconds_per_cycle.value)};
}

// Factors for normal noise: 1.4826 from the median absolute deviation to the standard deviation,
// 1.2533 from the error of a mean to that of a median.
Value median_and_error(std::vector<double> timings) {
  const double middle = median(timings);
  if (timings.size() < 2) return {middle, kNaN};
  for (double& x : timings) x = std::abs(x - middle);
  const double n = static_cast<double>(timings.size());
  return {middle, 1.4826 * 1.2533 * median(std::move(timings)) / std::sqrt(n)};
}

Value typical_cost(std::vector<double> pieces, double least) {
  if (pieces.empty()) throw Error(ExitCode::internal, "typical_cost: nothing was timed");
  if (pieces.size() < 3) least = 0.2;
  Value cost = median_and_error(std::move(pieces));
  const double least_error = least * cost.value;
  if (!(cost.error > least_error)) cost.error = least_error;  // also if it is NaN
  return cost;
}

Value with_tail(Value summed, double window) {
  if (!(window > summed.value)) {
    throw Error(ExitCode::internal,
                "with_tail: the window must be larger than the sum of the correlations");
  }
  // The integral of exp(-t / tau) from window + 1/2 on approximates the sum over the lags after the
  // window.
  double tau = summed.value;
  for (int k = 0; k < 100; ++k) tau = summed.value / -std::expm1(-(window + 0.5) / tau);
  const double x = (window + 0.5) / tau;
  return {tau, summed.error / (1 - std::exp(-x) * (1 + x))};
}

RateBounds rate_bounds(Value rate, double z) {
  const double factor = std::exp(z * rate.error / rate.value);
  return {rate.value / factor, rate.value * factor};
}

CurveTau curve_tau(RealSeriesRef curves, double times, double s) {
  if (curves.cols() < 1) throw Error(ExitCode::internal, "curve_tau: no curve");
  const Eigen::ArrayXd mean = curves.rowwise().mean();
  const double n = times * static_cast<double>(curves.cols());
  CurveTau result;
  Eigen::Index window = 0;
  double sum = 0;
  while (window < mean.size() && !result.window_found) {
    sum += mean[window++];
    const double tau = sum <= 0 ? std::numeric_limits<double>::epsilon() : s / std::log1p(1 / sum);
    const double t = static_cast<double>(window);
    result.window_found = std::exp(-t / tau) - tau / std::sqrt(t * n) < 0;
  }
  std::vector<double> members;
  for (Eigen::Index k = 0; k < curves.cols(); ++k) {
    members.push_back(0.5 + curves.col(k).head(window).sum());
  }
  result.tau = mean_and_error(members);
  // If anticorrelations make the sum zero or negative, tau of white noise is a safe estimate.
  if (result.tau.value <= 0) result.tau.value = 0.5;
  return result;
}

}  // namespace rewise

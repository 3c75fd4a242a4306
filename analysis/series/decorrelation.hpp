// The speed of a schedule of updates: decorrelated measurements per second, 1 / (2 tau_int times
// the seconds per cycle), with its error. Also tau_int of given correlation curves (the
// configuration correlation of Hawick, Leist & Playne 2010, eq. 14).
//
// tau_int = 1/2 + sum of rho(t) (1/2 for white noise), in cycles.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "analysis/series/autocorrelation.hpp"
#include "analysis/series/statistics.hpp"

namespace rewise {

// 1 / (2 tau seconds); relative errors are added in quadrature.
Value decorrelated_rate(Value tau, Value seconds_per_cycle);

// The median of one or more timings and its standard error from the median absolute deviation; the
// error of one timing is NaN. Both are robust against single timings that other processes
// disturbed.
Value median_and_error(std::vector<double> timings);

// The same, with a relative error of at least `least`, and at least 20% with fewer than three
// timings.
Value typical_cost(std::vector<double> pieces, double least = 0.01);

// Corrects tau_int for a sum over lags that ended at `window`, before the correlations had decayed:
// assumes an exponential and solves tau (1 - exp(-(window + 1/2) / tau)) = summed. Needs window >
// summed.
Value with_tail(Value summed, double window);

// The interval rate * exp(-z sigma) .. rate * exp(z sigma), where sigma is the relative error. It
// is asymmetric, since the errors of tau are large and skewed.
struct RateBounds {
  double low = 0, high = 0;
};
RateBounds rate_bounds(Value rate, double z);

// tau_int of the mean of curves rho(t), [lag, member], t = 1, 2, .. (rho(0) = 1 is left out), with
// the automatic window of the Gamma method for a series of `times` points; the error is that of
// the mean over members at that window, NaN for one member. `window_found` as in GammaResult: false
// if the curves end before the window closes.
struct CurveTau {
  Value tau;
  bool window_found = false;
};
CurveTau curve_tau(RealSeriesRef curves, double times, double s = kWindowS);

}  // namespace rewise

// What a schedule of updates is worth: decorrelated measurements per second, 1 / (2 tau_int times
// the seconds per cycle), with its error; and the tau_int of curves that are correlations already
// (the configuration correlation of Hawick, Leist & Playne 2010, eq. 14).
//
// tau_int = 1/2 + sum of rho(t) (1/2 for white noise), in cycles.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "analysis/series/autocorrelation.hpp"
#include "analysis/series/statistics.hpp"

namespace rewise {

// 1 / (2 tau seconds); relative errors add in squares.
Value decorrelated_rate(Value tau, Value seconds_per_cycle);

// The median of timed pieces and its standard error, from the median absolute deviation (as in a
// normal distribution: 1.2533 x 1.4826 MAD / sqrt(n)), so that a piece in which the machine was
// busy with something else spoils neither. The relative error is at least `least`, and 20% below
// three pieces.
Value typical_cost(std::vector<double> pieces, double least = 0.01);

// tau_int where the sum over lags ended at `window`, before the correlations had died out, with
// what is missing added as of an exponential: the tau with tau (1 - exp(-window / tau)) = summed.
// The window must be longer than the sum.
Value with_tail(Value summed, double window);

// Between rate * exp(-z sigma) and rate * exp(z sigma), sigma its relative error: the errors of tau
// are large and skew.
struct RateBounds {
  double low = 0, high = 0;
};
RateBounds rate_bounds(Value rate, double z);

// tau_int of the mean of curves rho(t), [lag, member], t = 1, 2, .. (rho(0) = 1 is left out), with
// the automatic window of the Gamma method for a series of `times` points; the error is that of
// the mean over members at that window, NaN for one member. `window_found` as in GammaResult: false
// where the curves end before the window does.
struct CurveTau {
  Value tau;
  bool window_found = false;
};
CurveTau curve_tau(RealSeriesRef curves, double times, double s = kWindowS);

}  // namespace rewise

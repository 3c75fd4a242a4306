// Integrated autocorrelation times, and errors of time averages that include them, by the Gamma
// method with its automatic window: U. Wolff, Comput. Phys. Commun. 156, 143 (2004).
//
//   tau_int = 1/2 + sum_(t=1)^W rho(t)      (1/2 for white noise; other conventions: 0 or 1)
//   error^2 of the mean = 2 tau_int Gamma(0) / n
//
// Times are in units of the spacing of the series (the caller multiplies by `every`).
// Cost: O(n W): lags are summed, four at a time, until the window closes.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "analysis/series/statistics.hpp"

namespace rewise {

using RealSeries = Eigen::Array<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RealSeriesRef = Eigen::Ref<const RealSeries>;  // [time, replica]

struct GammaResult {
  Value mean;                // of all replicas together
  Value tau;                 // tau_int, eqs. (41), (42)
  Eigen::Index window = 0;   // W
  bool window_found = true;  // false: the series is too short for its tau; tau is a lower bound
  double variance = 0;       // Gamma(0), bias-corrected
  double replica_q = 1;      // P(spread of the replica means at least as large), eq. (39); 1 if one
};

inline constexpr double kWindowS = 1.5;

// All replicas must have the same length, at least 2 times. A constant series has tau = 1/2 and no
// error. `s` is Wolff's S, the assumed ratio tau/tau_int, 1 to 2. The mean is subtracted from the
// series in place: pass it by std::move if it is not needed any more.
GammaResult gamma_method(RealSeries series, double s = kWindowS);

// The same for an interrupted series that consists of several parts. `starts`, ascending from 0,
// are the times at which the parts begin. No pair of times spans two parts, and no lag exceeds
// three quarters of the longest part (half for an uninterrupted series): many replicas provide
// enough pairs at such lags.
GammaResult gamma_method(RealSeries series, std::span<const Eigen::Index> starts,
                         double s = kWindowS);

// rho(t), t = 0 .. max_lag, about the common mean of all replicas, without bias correction.
Eigen::ArrayXd autocorrelation(RealSeriesRef series, Eigen::Index max_lag);

}  // namespace rewise

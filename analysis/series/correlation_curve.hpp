// Curves averaged over independent members (replicas of one graph, or graphs). Errors come from the
// spread of the members, without an assumption on the correlation of points of one curve.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "analysis/series/autocorrelation.hpp"
#include "analysis/series/statistics.hpp"

namespace rewise {

struct MeanCurve {
  Eigen::ArrayXd value, error;  // [point]; error NaN for one member
};

// `rows` [member, point].
MeanCurve mean_curve(const Eigen::ArrayXXd& rows);

// Rows of one group averaged: [member, point] -> [group, point]; `members` rows to a group.
Eigen::ArrayXXd group_means(const Eigen::ArrayXXd& rows, Eigen::Index members);

// mean_curve() of rows in groups, such as the replicas of one graph, which are correlated. Errors
// are those of the means of groups. With few groups these are uncertain, so that the error is never
// smaller than the one computed from all rows.
MeanCurve mean_over_groups(const Eigen::ArrayXXd& rows, Eigen::Index members);

// The last point where the mean curve falls to `level`, by linear interpolation. (The last one:
// a Metropolis sweep accepts every move of equal energy, so that the correlation oscillates at
// first.) The error is a jackknife over groups of `members` rows, as in mean_over_groups(). If the
// curve ends above `level`, the result is infinite with error NaN. If a leave-one-out curve ends
// above it, the error is NaN.
Value time_to_level(const Eigen::ArrayXd& x, const Eigen::ArrayXXd& rows, double level,
                    Eigen::Index members);

// The first point where the curve falls to `level`, for curves that end in noise.
Value first_time_at_level(const Eigen::ArrayXd& x, const Eigen::ArrayXXd& rows, double level,
                          Eigen::Index members);

// rho(t) at the given lags: the mean of x(s) x(s + t) over times s and replicas, divided by the
// mean of x^2, with x the deviation from the mean of all replicas. Errors by jackknife over groups
// of `members` replicas, as in mean_over_groups(). `lags` ascending, below the series' length. A
// constant series has rho = 0 without error. Cost: replicas x times x lags.
MeanCurve autocorrelation_curve(RealSeriesRef series, const std::vector<Eigen::Index>& lags,
                                Eigen::Index members);

// The error of 1/2 + rho(1) + .. + rho(window), computed in the same way; NaN for one replica.
double tau_error(RealSeriesRef series, Eigen::Index window, Eigen::Index members);

}  // namespace rewise

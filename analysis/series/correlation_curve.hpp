// Curves that are averages over independent members (replicas of one graph, or graphs), with errors
// that come from the spread of the members alone: no assumption on how points of one curve are
// correlated.
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

// mean_curve() of rows that come in groups, such as the replicas of a graph, which are alike in
// what they share: errors are those of the groups' means. Those of few groups are uncertain
// themselves, and not taken below what the rows say.
MeanCurve mean_over_groups(const Eigen::ArrayXXd& rows, Eigen::Index members);

// Where the mean curve comes down to `level` for good, between points by a straight line; the error
// by jackknife over groups of `members` rows, as that of mean_over_groups(). (For good: a sweep of
// Metropolis flips every move of equal energy, so its correlation goes up and down at first.)
// Infinite where it ends above, with an error of NaN; the error is NaN too where a leave-one-out
// curve does.
Value time_to_level(const Eigen::ArrayXd& x, const Eigen::ArrayXXd& rows, double level,
                    Eigen::Index members);

// The same for the first time: where it ends is noise.
Value first_time_at_level(const Eigen::ArrayXd& x, const Eigen::ArrayXXd& rows, double level,
                          Eigen::Index members);

// rho(t) at the given lags about the mean of all replicas, sum over replicas of the products over
// that of the squares; errors by jackknife over groups of `members` replicas, as those of
// mean_over_groups(). `lags` ascending, below the series' length. A constant series has rho = 0
// without error.
// Cost: replicas x times x lags.
MeanCurve autocorrelation_curve(RealSeriesRef series, const std::vector<Eigen::Index>& lags,
                                Eigen::Index members);

// The error, likewise, of 1/2 and the sum of rho(1) .. rho(window); NaN for one replica.
double tau_error(RealSeriesRef series, Eigen::Index window, Eigen::Index members);

}  // namespace rewise

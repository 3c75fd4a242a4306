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
// by jackknife over members. (For good: a sweep of Metropolis flips every move of equal energy, so
// its correlation goes up and down at first.) Infinite where it ends above, with an error of NaN;
// the error is NaN too where a leave-one-out curve does.
Value time_to_level(const Eigen::ArrayXd& x, const Eigen::ArrayXXd& rows, double level);

// rho(t) at the given lags about the mean of all replicas, sum over replicas of the products over
// that of the squares; errors by jackknife over replicas. `lags` ascending, below the series'
// length. A constant series has rho = 0 without error.
// Cost: replicas x times x lags.
MeanCurve autocorrelation_curve(RealSeriesRef series, const std::vector<Eigen::Index>& lags);

}  // namespace rewise

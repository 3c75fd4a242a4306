// Allocates further work to the sizes of a study such that the error of a fitted number falls most
// per unit of work.
//
// The number is the first parameter of a generalised least-squares fit (linear_fit.hpp). The
// covariance of the data is a sum over independent sources (the graphs of one size). A source has
// G `members` (graphs) with n `measurements` each, and its part of the covariance falls as
//   C_s(G, n) = C_s(now) (G_now / G) (1 - f + f n_now / n).
// f is the share of thermal noise, which more measurements reduce. The rest is the spread between
// graphs, which only more graphs reduce. Work: G (start + n measure).
//
// Each step increases the members or the measurements of one source, whichever lowers the variance
// most per work. The weights w of the fit minimise the variance, so that their derivative is not
// needed: d var = w^T dC w. Without correlations and with fixed weights the result is Neyman's,
// G ~ |w| sigma / sqrt(work of a member) (J. R. Stat. Soc. 97, 558 (1934)), and
// n = sqrt(f n_now start / ((1 - f) measure)). With the weights of the fit it is the c-optimal
// design (Elfving, Ann. Math. Stat. 23, 255 (1952)), minus the work that is already done.
// Cost: one small fit per step; about 35 steps double the members of a source.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace rewise {

struct ErrorSource {
  Eigen::MatrixXd covariance;            // [points, points], present contribution of the source
  double thermal = 0;                    // f, 0..1
  double members = 1, measurements = 1;  // now
  double start = 1, measure = 1;         // work per member before measuring, per measurement
  double most_members = 1e9, most_measurements = 1e9;

  double work() const { return members * (start + measurements * measure); }
};

struct WeighedFit {
  Eigen::MatrixXd design;            // [points of it, parameters]
  std::vector<Eigen::Index> points;  // of the data
  double weight = 1;
  // [points of it, points of it] covariance of neglected terms, which more work does not reduce. It
  // affects the weights of the data. May be empty.
  Eigen::MatrixXd neglected = {};
};

struct Allocation {
  std::vector<double> members, measurements;  // [source], whole numbers
  double variance = 0;     // predicted, of all fits together, with the neglected terms
  double work = 0;         // total, including the work that is already done
  bool exhausted = false;  // every source that would reduce the variance is at its maximum
};

// Adds work until the variance is at most `variance` or the total work is at least `most_work`.
// Makes at least one step if the variance is too large. If no fit is possible, nothing is added and
// the variance is NaN.
Allocation allocate(const std::vector<WeighedFit>& fits, const std::vector<ErrorSource>& sources,
                    double variance, double most_work);

// One of several numbers with the same source. Only ratios of variances matter.
struct Goal {
  double variance = 0, thermal = 0;  // as of now; thermal: the source's f, for this number
  double wanted = 0;
};

// The members and measurements of one source with which every number reaches its goal with the
// least work. Uses the members, measurements and work of the source, but not its covariance and
// thermal share. If this would exceed `most_work` in total, or the maximum of members, returns
// those that minimise the largest ratio variance / goal. `variance` of the result is that ratio.
// `exhausted`: the source is at its maximum. Numbers of measurements are tried in one pass, in
// steps of a quarter.
Allocation meet_goals(const ErrorSource& source, const std::vector<Goal>& goals, double most_work);

}  // namespace rewise

// Where more work lowers the error of a fitted number most.
//
// The number is the first parameter of a generalised least-squares fit (linear_fit.hpp) to data
// whose covariance is a sum over independent sources (the graphs of one size). A source is
// `members` (graphs) of `measurements` each, and its part of the covariance falls as
//   C_s(G, n) = C_s(now) (G_now / G) (1 - f + f n_now / n),
// f being the share that measurements lower (thermal noise) and the rest what only more members do
// (the spread between graphs). Work: G (start + n measure).
//
// Every step takes that growth of one source, by members or by measurements, which lowers the
// variance most per work. Its derivative needs no derivative of the fit's weights w, which are
// those of least variance: d var = w^T dC w. Without correlations and with fixed weights the
// outcome is Neyman's, G ~ |w| sigma / sqrt(work of a member) (J. R. Stat. Soc. 97, 558 (1934)),
// and n = sqrt(f n_now start / ((1 - f) measure)); with the fit's own weights it is the c-optimal
// design (Elfving, Ann. Math. Stat. 23, 255 (1952)), less what was already done elsewhere.
// Cost: one small fit per step, some 50 steps per doubling and source.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace rewise {

struct ErrorSource {
  Eigen::MatrixXd covariance;            // [points, points], its part as of now
  double thermal = 0;                    // f, 0..1
  double members = 1, measurements = 1;  // now
  double start = 1, measure = 1;         // work: of a member before it measures, of a measurement
  double most_members = 1e9, most_measurements = 1e9;

  double work() const { return members * (start + measurements * measure); }
};

struct WeighedFit {
  Eigen::MatrixXd design;            // [points of it, parameters]
  std::vector<Eigen::Index> points;  // of the data
  double weight = 1;
  // [points of it, points of it] what no growth lowers, of a term that the form leaves out: it
  // takes weight from the data, too. May be empty.
  Eigen::MatrixXd neglected = {};
};

struct Allocation {
  std::vector<double> members, measurements;  // [source], whole numbers
  double variance = 0;     // as predicted, all fits together, what they neglect included
  double work = 0;         // in all, what is done included
  bool exhausted = false;  // what would help is at its most
};

// Grows until the variance is `variance` or below, or the work (all of it) `most_work` or above, by
// one step at least where the variance is above. Where no fit is possible nothing grows and the
// variance is NaN.
Allocation allocate(const std::vector<WeighedFit>& fits, const std::vector<ErrorSource>& sources,
                    double variance, double most_work);

// One number of several that rest on the same source; only ratios of variances matter.
struct Goal {
  double variance = 0, thermal = 0;  // as of now; thermal: the source's f, for this number
  double wanted = 0;
};

// The cheapest growth of one source (members, measurements, work; its covariance and thermal share
// are not looked at) at which every number meets its goal; where its work, all of it, would exceed
// `most_work`, or members their most, that which brings the number that is farthest from its goal
// closest. `variance`: the largest of variance / wanted. Where nothing may grow, `exhausted`.
// Measurements are looked for in steps of a quarter; one pass over them.
Allocation meet_goals(const ErrorSource& source, const std::vector<Goal>& goals, double most_work);

}  // namespace rewise

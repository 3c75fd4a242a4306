// Time to equilibrium: when systems that started hot and systems that started cold agree within
// their errors.
//
// At each point t the time averages of every system over [t, 2t] are compared by Welch's t test;
// the time is the first t whose window agrees (p >= 0.05, so |z| < 2 for many systems). Averages of
// one system over the window carry its own fluctuations honestly, and the window grows with t as a
// relaxation does. More systems see smaller differences: the time grows with the logarithm of their
// number (exponential relaxation), so compare times of equal numbers.
#pragma once

#include <Eigen/Core>

#include "analysis/series/statistics.hpp"

namespace rewise {

struct EquilibriumTime {
  Value time;       // error: bootstrap over systems; infinite where they never agree
  double last = 0;  // no agreement up to here (the last point tried where there is none at all)
  bool reached = false;
};

inline constexpr double kEquilibriumLevel = 0.05;

// `x` [point] ascending, positive; `hot` and `cold` [system, point], at least 2 systems each.
EquilibriumTime equilibrium_time(const Eigen::ArrayXd& x, const Eigen::ArrayXXd& hot,
                                 const Eigen::ArrayXXd& cold, double level = kEquilibriumLevel);

}  // namespace rewise

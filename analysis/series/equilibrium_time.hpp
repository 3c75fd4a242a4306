// Time to equilibrium: the time after which replicas with a random (hot) and an ordered (cold)
// start agree within their errors.
//
// At each point t, the time averages of every replica over [t, 2t] are compared by Welch's t test.
// The result is the first t whose window agrees (p >= 0.05, so |z| < 2 for many replicas). Averages
// over a window contain the fluctuations of the replica, and the window grows with t. More replicas
// resolve smaller differences: for exponential relaxation, the time grows with the logarithm of
// their number. Compare only times from equal numbers of replicas.
#pragma once

#include <Eigen/Core>

#include "analysis/series/statistics.hpp"

namespace rewise {

struct EquilibriumTime {
  Value time;       // error: bootstrap over replicas; infinite if they never agree
  double last = 0;  // the point before `time` (0: none); the last point if they never agree
  bool reached = false;
};

inline constexpr double kEquilibriumTimeLevel = 0.05;

// `x` [point] ascending, positive; `hot` and `cold` [replica, point], at least 2 replicas each.
EquilibriumTime equilibrium_time(const Eigen::ArrayXd& x, const Eigen::ArrayXXd& hot,
                                 const Eigen::ArrayXXd& cold, double level = kEquilibriumTimeLevel);

}  // namespace rewise

// Data collapse of Binder's U: U(T, N) = f((T - Tc) N^y) with free Tc and y. Mean field: y = 1/2;
// regular lattice: y = 1/(nu d).
//
// The quality S is the mean squared distance of all points from one polynomial in (T - Tc) N^y, in
// units of the errors. It is smooth in Tc and y. The measure of Houdayer & Hartmann, Phys. Rev. B
// 70, 014418 (2004), jumps where the neighbours of a point change. For reweighted curves these
// jumps are larger than the changes from leaving out one graph.
#pragma once

#include <vector>

#include "analysis/scaling/curves.hpp"

namespace rewise {

inline constexpr int kCollapseDegree = 4;  // of the polynomial

struct Collapse {
  Value tc, y;
  double quality = 0;  // S at the minimum
  bool converged = false;
};

// Starts from `tc` and `y`. Uses only points with |x| = |T - Tc| N^y <= range at these values. The
// points of a reweighted curve are correlated: errors come from the jackknife over the curves'
// members, with one fit per member, and S may lie far below 1.
Collapse fit_collapse(const std::vector<JackknifeCurve>& curves, double tc, double y, double range);

}  // namespace rewise

// Data collapse: A(T, N) N^-c = f((T - Tc) N^y) with free Tc, y and c.
//
// Mean field: y = 1/2 and c = 0 for U, c = -1/2 for m^2; regular lattice: y = 1/(nu d),
// c = -2 beta/(nu d).
//
// For independent points the quality S is that of Houdayer & Hartmann, Phys. Rev. B 70, 014418
// (2004), appendix: the mean squared distance of each point from the straight line through the
// neighbouring points of the other sizes, in units of the errors; about 1 for a collapse within
// errors. It jumps where neighbours change, by little for noisy points, but by more than a
// leave-one-out change for reweighted curves. For these S is the mean squared distance from one
// polynomial through all sizes, which is smooth in Tc, y and c.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "analysis/scaling/curves.hpp"

namespace rewise {

struct CollapseData {
  double sites = 0;
  Eigen::ArrayXd temperature;  // [K], ascending
  Eigen::ArrayXd value;        // [K]
  Eigen::ArrayXd error;        // [K], > 0
};

struct CollapseParameters {
  double tc = 0, y = 0, c = 0;
};

struct CollapseOptions {
  bool free_y = true;
  bool free_c = true;  // for U leave c fixed at 0
  // Only points with |x| = |T - Tc| N^y <= range enter (0: all); for curves, at the start values.
  double range = 0;
  int degree = 6;  // of the polynomial, for curves
};

// S; infinity where no point lies between points of another size.
double collapse_quality(const std::vector<CollapseData>& data, const CollapseParameters& at,
                        double range = 0);

struct Collapse {
  Value tc, y, c;      // fixed parameters have error 0
  double quality = 0;  // S at the minimum
  bool converged = false;
};

// Errors by the S + 1 rule (how far a parameter can go until S, minimised over the others, has
// risen by 1): what Houdayer & Hartmann do; a generous upper bound.
Collapse fit_collapse(const std::vector<CollapseData>& data, const CollapseParameters& start,
                      const CollapseOptions& options = {});

// For reweighted curves, whose points are correlated: distance from a polynomial, errors by the
// jackknife over the curves' members, one refit per member. S may lie far below 1.
Collapse fit_collapse(const std::vector<JackknifeCurve>& curves, const CollapseParameters& start,
                      const CollapseOptions& options = {});

}  // namespace rewise

// Crossings of the curves of two sizes: U (Binder, Z. Phys. B 43, 119 (1981)) or sqrt(N) m^2.
//
// Below Tc, both observables are larger for the larger size; above Tc, for the smaller size. The
// crossing is therefore a root at which the difference, larger size minus smaller size, falls
// through zero. Curves are interpolated by Floater-Hormann rational functions of order 3 (error ~
// spacing^4); roots are computed by TOMS 748, a bracketing method. Noise can produce several roots
// where both curves are flat. Then the crossing is the root that best separates positive from
// negative differences. The crossing of a leave-one-out curve is its root nearest to the crossing
// of the full curves.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/scaling/curves.hpp"

namespace rewise {

enum class CrossingStatus {
  found,
  none,      // the difference does not fall through zero where both curves are known
  unstable,  // it does, but not in every leave-one-out sample: the window is too narrow
};

// What crosses: U and N^x m^2, or of spin glasses U_q and N^x q^2, with x of mean field or of the
// cubic lattice.
enum CrossingObservable {
  kBinder,
  kScaledM2,
  kOverlapBinder,
  kScaledOverlap,
  kCubicOverlap,
};
std::string_view crossing_name(CrossingObservable observable);    // in files
std::string_view crossing_symbol(CrossingObservable observable);  // in tables

struct Crossing {
  // Sites of the two sizes. If larger is infinite, the curve of `smaller` crosses a constant, the
  // known limit of the observable.
  double smaller = 0, larger = 0;
  bool with_limit() const { return std::isinf(larger); }
  CrossingObservable observable = kBinder;
  CrossingStatus status = CrossingStatus::none;
  Jackknifed temperature;  // NaN unless found or unstable
  Jackknifed height;       // the observable's value there
  // Number of roots where the difference falls through zero. More than one is due to noise.
  int roots = 0;
};

// The curves' temperatures may differ: the crossing is sought where they overlap. Each needs at
// least 4 temperatures.
Crossing find_crossing(const JackknifeCurve& first, const JackknifeCurve& second,
                       CrossingObservable observable = kBinder);

// Where one curve falls through a known limit; the same for its leave-one-out curves.
Crossing crossing_with_limit(const JackknifeCurve& curve, double limit,
                             CrossingObservable observable = kBinder);

// Crossings of consecutive sizes (curves sorted by sites). All S(S-1)/2 pairs would add little
// information and make the covariance nearly singular.
std::vector<Crossing> consecutive_crossings(const std::vector<JackknifeCurve>& curves,
                                            CrossingObservable observable = kBinder);

// A root at which y(x), given at nodes, falls through zero: the one nearest to `near` if that is
// given, else the one that best separates positive from negative values. Empty if there is none.
// `roots` receives the number of such roots.
std::optional<double> falling_root(const Eigen::ArrayXd& x, const Eigen::ArrayXd& y,
                                   std::optional<double> near = {}, int* roots = nullptr);

// Floater-Hormann interpolation of y(x) at one point.
double interpolate(const Eigen::ArrayXd& x, const Eigen::ArrayXd& y, double at);

}  // namespace rewise

#include "src/search/tc/growth_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rewise {
namespace {

// If the systematic error exceeds this fraction of the target, a larger size is cheaper than more
// graphs.
constexpr double kMaxSystematic = 0.8;

// Whether an amplitude of the leading term differs from 0 by more than two standard errors. If none
// does, the estimated neglected terms decrease with the statistical error.
bool drifts(const CrossingFit& fit) {
  for (Eigen::Index k = 1; k < fit.fit.parameters.size(); ++k) {
    const Value amplitude = fit.fit.parameter(k);
    if (std::abs(amplitude.value) > 2 * amplitude.error) return true;
  }
  return false;
}

WeighedFit weighed_fit(const CrossingFit& fit) {
  WeighedFit whole{fit.design, {}, 1, fit.neglected};
  for (std::size_t i = 0; i < fit.used.size(); ++i) {
    whole.points.push_back(static_cast<Eigen::Index>(i));
  }
  return whole;
}

}  // namespace

GrowthStep growth_step(const StudyConfig& config, const Extrapolation& extrapolation,
                       const std::vector<ErrorSource>& sources, bool may_add) {
  GrowthStep step;
  const double tc = extrapolation.value.value, target = *config.target_error * tc;
  const double statistical = extrapolation.value.error, total = extrapolation.total().error;
  step.error = total / tc;
  // A search that stops at the first small error selects errors that are too small by chance.
  // Therefore the error is increased by its own standard error.
  const double doubt = 1 + 1 / std::sqrt(2 * std::max(extrapolation.members, 1.0));
  step.reached = std::hypot(statistical * doubt, extrapolation.systematic) <= target;

  const CrossingFit& chosen = extrapolation.fits[extrapolation.chosen];
  const Eigen::VectorXd weights = chosen.fit.gain.row(0).transpose();
  double work = 0, variance_now = 0;
  for (const ErrorSource& source : sources) {
    step.share.push_back(weights.dot(source.covariance * weights));
    step.thermal.push_back(source.thermal);
    variance_now += step.share.back();
    work += source.work();
  }
  for (double& share : step.share) share /= variance_now;
  if (step.reached) return step;
  // allocate() predicts the variance of one fit, neglected terms included. The reported variance
  // may be larger, because it includes factors for few graphs and misfit and the spread of the
  // fits. The goal of allocate() is lowered by the ratio of the two.
  const std::vector<WeighedFit> fits{weighed_fit(chosen)};
  const double endless = std::numeric_limits<double>::infinity();
  const double now = allocate(fits, sources, endless, 0).variance;
  const double reported = std::pow(statistical * doubt, 2) + std::pow(extrapolation.systematic, 2);
  const auto variance_for = [&](double error) {
    return kAim * error * error / std::max(reported / now, 1.0);
  };
  double wanted = variance_for(target);
  Allocation all = allocate(fits, sources, wanted, endless);
  // More graphs reduce the neglected terms only if the fit can shift weight to larger sizes.
  const double systematic = extrapolation.systematic;
  if (drifts(chosen) && systematic > kMaxSystematic * target && (may_add || all.exhausted)) {
    step.another_size = may_add;
    if (may_add) return step;
    if (statistical * doubt <= systematic) {
      step.stopped = fmt::format(
          "the extrapolation over sizes may be wrong by {:.1e} of Tc, which more graphs and "
          "measurements do not reduce: larger sizes are needed",
          systematic / tc);
      return step;
    }
    // Out of reach, but the statistical error can still be lowered to the systematic one.
    wanted = variance_for(std::sqrt(2) * systematic);
    all = allocate(fits, sources, wanted, endless);
  }
  // If the prediction is already below the goal, only the work limits the step.
  const double variance = now > wanted ? wanted : 0;
  // The needed work minus one standard error: the relative error of a variance with n degrees of
  // freedom is (2/n)^(1/2).
  const double certain = 1 - std::sqrt(2 / std::max(extrapolation.members, 2.0));
  const double needed = now > wanted ? std::min(certain * all.work, kCertainGrowth * work) : 0;
  const double most_work = std::max(kGrowth * work, needed);
  const Allocation next = allocate(fits, sources, variance, most_work);
  if (!(next.work > work)) {
    step.stopped = fmt::format("lattice.most_graphs = {} is reached", config.most_graphs);
    return step;
  }
  step.members.assign(next.members.begin(), next.members.end());
  step.measurements.assign(next.measurements.begin(), next.measurements.end());
  step.work_left = (now > wanted ? all : next).work / work - 1;
  return step;
}

}  // namespace rewise

#include "src/search/tc_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "src/search/tc_analysis.hpp"

namespace rewise {
namespace {

// If the systematic error exceeds this fraction of the target, a larger size is cheaper than more
// graphs.
constexpr double kMaxSystematic = 0.8;

// The crossings that the extrapolation used: from jackknife samples over graphs, and from the
// thermal noise of each graph (thermal_curve()).
struct Used {
  std::vector<Jackknifed> numbers, thermal;
};

Used used_crossings(const StudyConfig& config, const TcData& point, const TcPointResult& result) {
  const std::vector<Crossing> thermal = crossings_of(config, point, true);
  Used used;
  for (const auto i : result.tc.fits[result.tc.chosen].used) {
    used.numbers.push_back(result.crossings[i].temperature);
    used.thermal.push_back(thermal[i].temperature);
  }
  return used;
}

bool have_thermal(const TcData& point) {
  for (const auto& size : point.sizes) {
    for (const auto& graph : size.samples.graphs) {
      if (graph.thermal_noise.rows() == 0) return false;
    }
  }
  return true;
}

// [size] Sources of error with their contributions to the covariance of the used crossings.
std::vector<ErrorSource> error_sources(const StudyConfig& config, const TcData& point,
                                       const TcPointResult& result) {
  const CrossingFit& chosen = result.tc.fits[result.tc.chosen];
  const Eigen::VectorXd weights = chosen.fit.gain.row(0).transpose();
  const std::function<double(const Eigen::VectorXd&)> limit = [&](const Eigen::VectorXd& y) {
    return weights.dot(y);
  };
  const bool thermal_known = have_thermal(point);
  Used used;
  if (thermal_known) {
    used = used_crossings(config, point, result);
  } else {
    for (const auto i : chosen.used) used.numbers.push_back(result.crossings[i].temperature);
  }
  const Jackknifed noise = thermal_known ? derive(used.thermal, limit) : Jackknifed{};
  std::vector<ErrorSource> sources;
  for (std::size_t k = 0; k < point.sizes.size(); ++k) {
    ErrorSource source = error_source(config, point.sizes[k]);
    source.covariance = covariance_within(static_cast<int>(k), used.numbers);
    const double variance = weights.dot(source.covariance * weights);
    const auto found = noise.left_out.find(static_cast<int>(k));
    if (found != noise.left_out.end() && variance > 0) {
      const double thermal = (found->second - noise.value).square().sum() / variance;
      source.thermal = std::isfinite(thermal) ? std::min(thermal, 1.0) : 0;
    }
    // At p = 0 all graphs are equal, so all noise is thermal.
    if (point.p == 0) source.thermal = 1;
    sources.push_back(std::move(source));
  }
  return sources;
}

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

TargetStep next_step(const StudyConfig& config, const TcData& point) {
  TargetStep step;
  for (const auto& size : point.sizes) {
    step.plans.push_back(size.plan);
    step.graphs.push_back(static_cast<std::uint32_t>(size.samples.graphs.size()));
    step.sizes.emplace_back();
  }
  const TcPointResult result = locate_tc(config, point);
  const bool may_add =
      config.temperatures.empty() && point.sizes.size() < config.sizes.size() + config.more_sizes;
  if (!result.accepted()) {
    step.error = std::numeric_limits<double>::quiet_NaN();
    for (SizeTarget& size : step.sizes) size.share = size.thermal = step.error;
    // Larger sizes can fix a lack of convergence; other failures cannot be fixed here.
    if (may_add && result.status() == TcStatus::not_converged) {
      step.another_size = true;
    } else {
      step.stopped = result.reasons.front().text;
    }
    return step;
  }
  const std::vector<ErrorSource> sources = error_sources(config, point, result);
  const GrowthStep growth = growth_step(config, result.tc, sources, may_add);
  static_cast<RoundStep&>(step) = growth;
  step.another_size = growth.another_size;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    step.sizes[k].share = growth.share[k];
    step.sizes[k].thermal = sources[k].thermal;
  }
  for (std::size_t k = 0; k < growth.members.size(); ++k) {
    step.graphs[k] = static_cast<std::uint32_t>(growth.members[k]);
    step.plans[k].measure = static_cast<std::uint64_t>(growth.measurements[k]);
  }
  return step;
}

}  // namespace rewise

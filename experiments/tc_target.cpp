#include "experiments/tc_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "experiments/tc_analysis.hpp"

namespace rewise {
namespace {

// The crossings that the extrapolation used, and the same with thermal variants.
struct Used {
  std::vector<Jackknifed> numbers, thermal;
};

Used used_crossings(const PointData& point, const PointResult& result) {
  std::vector<Crossing> thermal;
  for (int observable = 0; observable < (point.p > 0 ? 2 : 1); ++observable) {
    std::vector<JackknifeCurve> curves;
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      curves.push_back(thermal_curve(static_cast<int>(k), point.sizes[k].samples, observable));
    }
    const auto crossings = consecutive_crossings(curves, observable);
    thermal.insert(thermal.end(), crossings.begin(), crossings.end());
  }
  Used used;
  for (const auto i : result.tc.fits[result.tc.chosen].used) {
    used.numbers.push_back(result.crossings[i].temperature);
    used.thermal.push_back(thermal[i].temperature);
  }
  return used;
}

bool have_thermal(const PointData& point) {
  for (const auto& size : point.sizes) {
    for (const auto& graph : size.samples.graphs) {
      if (graph.thermal.rows() == 0) return false;
    }
  }
  return true;
}

// [size] with their parts of the covariance of the crossings used.
std::vector<ErrorSource> error_sources(const StudyConfig& config, const PointData& point,
                                       const PointResult& result) {
  const CrossingFit& chosen = result.tc.fits[result.tc.chosen];
  const Eigen::VectorXd weights = chosen.fit.gain.row(0).transpose();
  const std::function<double(const Eigen::VectorXd&)> limit = [&](const Eigen::VectorXd& y) {
    return weights.dot(y);
  };
  const bool thermal_known = have_thermal(point);
  Used used;
  if (thermal_known) {
    used = used_crossings(point, result);
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
    // At p = 0 there is nothing but thermal noise: graphs are alike.
    if (point.p == 0) source.thermal = 1;
    sources.push_back(std::move(source));
  }
  return sources;
}

// What the error of Tc is expected to become: the variance of the chosen fit and, for the
// systematic part, that of the alternative with one size fewer. Where the two are the same in
// truth, the mean square of what their difference seems to exceed its error by is <max(0, x^2 - 1)>
// = 0.48 of its variance (x normal). Two times in three it is nothing, though: until there is
// something to lower, the alternative is only kept from falling behind.
std::vector<WeighedFit> weighed_fits(const PointResult& result) {
  const double weight = result.tc.systematic > 0 ? 0.48 : 0.1;
  const CrossingFit& chosen = result.tc.fits[result.tc.chosen];
  WeighedFit whole{chosen.design, {}, 1};
  for (std::size_t i = 0; i < chosen.used.size(); ++i) {
    whole.points.push_back(static_cast<Eigen::Index>(i));
  }
  if (!result.tc.fewer) return {whole};
  const CrossingFit& fewer = result.tc.fits[*result.tc.fewer];
  WeighedFit part{fewer.design, {}, weight};
  whole.weight = 1 - weight;
  for (const auto i : fewer.used) {
    const auto at = std::find(chosen.used.begin(), chosen.used.end(), i);
    part.points.push_back(at - chosen.used.begin());
  }
  return {whole, part};
}

std::string missed_by_sizes(const PointResult& result) {
  return fmt::format(
      "the extrapolations over sizes differ by {:.1e} of Tc, more than statistics can mend: larger "
      "sizes are needed",
      result.tc.systematic / result.tc.value.value);
}

}  // namespace

TargetStep next_step(const StudyConfig& config, const PointData& point) {
  TargetStep step;
  for (const auto& size : point.sizes) {
    step.plans.push_back(size.plan);
    step.graphs.push_back(static_cast<std::uint32_t>(size.samples.graphs.size()));
    step.sizes.emplace_back();
  }
  const PointResult result = locate_tc(config, point);
  if (!result.tc.ok) {
    step.error = std::numeric_limits<double>::quiet_NaN();
    step.stopped = "no crossing could be used";
    return step;
  }
  const double tc = result.tc.value.value, target = *config.target_error * tc;
  const double statistical = result.tc.value.error, total = result.tc.total().error;
  step.error = total / tc;
  step.reached = total <= target;

  const CrossingFit& chosen = result.tc.fits[result.tc.chosen];
  const std::vector<ErrorSource> sources = error_sources(config, point, result);
  const Eigen::VectorXd weights = chosen.fit.gain.row(0).transpose();
  double work = 0;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    const double part = weights.dot(sources[k].covariance * weights);
    step.sizes[k].share = part / (statistical * statistical);
    step.sizes[k].thermal = sources[k].thermal;
    work += sources[k].work();
  }

  // No graphs mend a difference of extrapolations that is more than twice what their errors
  // explain.
  const bool differ = !step.reached && result.tc.systematic > 2 * result.tc.doubt &&
                      2 * statistical * statistical <= target * target;
  const bool may_add =
      config.temperatures.empty() && point.sizes.size() < config.sizes.size() + config.more_sizes;
  if (may_add && (differ || chosen.fit.q < kLeastQ || below_crossover(result))) {
    step.another_size = true;
    step.reached = false;
    return step;
  }
  if (step.reached) return step;
  if (differ) {
    step.stopped = missed_by_sizes(result);
    return step;
  }
  const std::vector<WeighedFit> fits = weighed_fits(result);
  const double wanted = kAim * target * target;
  const double now = allocate(fits, sources, std::numeric_limits<double>::infinity(), 0).variance;
  // Where the error should be below the target but for bad luck, more of everything.
  const double variance = now > wanted ? wanted : 0;
  const Allocation next = allocate(fits, sources, variance, kGrowth * work);
  if (!(next.work > work)) {
    step.stopped = fmt::format("lattice.most_graphs = {} is reached", config.most_graphs);
    return step;
  }
  for (std::size_t k = 0; k < sources.size(); ++k) {
    step.graphs[k] = static_cast<std::uint32_t>(next.members[k]);
    step.plans[k].measure = static_cast<std::uint64_t>(next.measurements[k]);
  }
  const Allocation all =
      now > wanted ? allocate(fits, sources, wanted, std::numeric_limits<double>::infinity())
                   : next;
  step.work_left = all.work / work - 1;
  return step;
}

}  // namespace rewise

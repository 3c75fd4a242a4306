#include "src/search/tc/crossings_target.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "src/search/tc/crossings_analysis.hpp"
#include "src/search/tc/crossings_criterion.hpp"

namespace rewise {
namespace {

// The crossings that the extrapolation used: from jackknife samples over graphs, and from the
// thermal noise of each graph (thermal_curve()).
struct Used {
  std::vector<Jackknifed> numbers, thermal;
};

Used used_crossings(const StudyConfig& config, const WindowPoint& point,
                    const TcPointResult& result) {
  const std::vector<Crossing> thermal = crossings_of(config, point, true);
  Used used;
  for (const auto i : result.tc.fits[result.tc.chosen].used) {
    used.numbers.push_back(result.crossings[i].temperature);
    used.thermal.push_back(thermal[i].temperature);
  }
  return used;
}

bool have_thermal(const WindowPoint& point) {
  for (const auto& size : point.sizes) {
    for (const auto& graph : size.samples.graphs) {
      if (graph.thermal_noise.rows() == 0) return false;
    }
  }
  return true;
}

// [size] Sources of error with their contributions to the covariance of the used crossings.
std::vector<ErrorSource> error_sources(const StudyConfig& config, const WindowPoint& point,
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

}  // namespace

GrowthStep next_step(const StudyConfig& config, const WindowPoint& point) {
  const TcPointResult result = locate_tc(config, point);
  const bool may_add =
      config.temperatures.empty() && point.sizes.size() < config.sizes.size() + config.more_sizes;
  if (!result.accepted()) {
    GrowthStep step;
    step.share.assign(point.sizes.size(), std::numeric_limits<double>::quiet_NaN());
    step.thermal = step.share;
    // Larger sizes can fix a lack of convergence; other failures cannot be fixed here.
    if (may_add && result.status() == TcStatus::not_converged) {
      step.another_size = true;
    } else {
      step.stopped = result.reasons.front().text;
    }
    return step;
  }
  return growth_step(config, result.tc, error_sources(config, point, result), may_add);
}

}  // namespace rewise

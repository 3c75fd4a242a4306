#include "src/search/sweep/sweep_criterion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/settings/parse.hpp"

namespace rewise {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Thermal part of the squared errors, [T]. At p = 0 it is the whole error, since all graphs are
// equal.
Eigen::ArrayXd thermal_share(double p, const SizeData& size, const Observable& observable,
                             const Eigen::ArrayXd& variance) {
  if (p == 0) return Eigen::ArrayXd::Ones(variance.size());
  const auto& graphs = size.samples.graphs;
  const bool known = std::all_of(graphs.begin(), graphs.end(), [](const GraphSample& graph) {
    return graph.simulated_thermal_noise.rows() > 0;
  });
  if (!known) return Eigen::ArrayXd::Zero(variance.size());
  const Eigen::ArrayXd share = thermal_variance(size, observable) / variance;
  return share.isFinite().select(share.min(1.0), 0.0);
}

}  // namespace

SweepStep next_sweep_step(const StudyConfig& config, double p, const SizeData& size) {
  SweepStep step;
  step.graphs = static_cast<std::uint32_t>(size.samples.graphs.size());
  step.measure = size.plan.measure;
  const double target = *config.target_error;
  const SizeCurves curves = simulated_curves(size);
  std::vector<Goal> goals;
  for (const Observable& observable : observables()) {
    const auto& wanted = config.target_observables;
    if (std::find(wanted.begin(), wanted.end(), observable.name) == wanted.end()) continue;
    const std::vector<Value>& values = curves.values.at(std::string(observable.name));
    Eigen::ArrayXd variance(static_cast<Eigen::Index>(values.size()));
    for (std::size_t t = 0; t < values.size(); ++t) {
      variance(static_cast<Eigen::Index>(t)) = values[t].error * values[t].error;
    }
    const Eigen::ArrayXd thermal = thermal_share(p, size, observable, variance);
    for (std::size_t t = 0; t < values.size(); ++t) {
      const auto [value, error] = values[t];
      const double relative = error == 0 ? 0 : error / std::abs(value);
      if (!std::isfinite(relative)) {
        step.stopped = fmt::format("{} at T = {} has no relative error", observable.name,
                                   number_text(size.plan.temperatures[t]));
        return step;
      }
      const double share = thermal(static_cast<Eigen::Index>(t));
      goals.push_back({relative * relative, share, kAim * target * target});
      if (!(step.error >= relative)) {
        step.error = relative;
        step.observable = observable.name;
        step.temperature = size.plan.temperatures[t];
        step.thermal = share;
      }
    }
  }
  step.reached = step.error <= target;
  if (step.reached) return step;
  const ErrorSource source = error_source(config, size);
  const Allocation next = meet_goals(source, goals, kGrowth * source.work());
  if (next.exhausted) {
    step.stopped = fmt::format("lattice.most_graphs = {} is reached", config.most_graphs);
    return step;
  }
  step.graphs = static_cast<std::uint32_t>(next.members.front());
  step.measure = static_cast<std::uint64_t>(next.measurements.front());
  step.work_left = meet_goals(source, goals, kUnbounded).work / source.work() - 1;
  return step;
}

}  // namespace rewise

#include "src/search/target_rounds.hpp"

#include <algorithm>
#include <cmath>

#include "src/settings/engines.hpp"

namespace rewise {
namespace {

// Maximum work of a graph in units of its equilibration. Beyond it, longer measurements save no
// work.
constexpr double kLongest = 20;

// Work of a measurement per site and replica, in attempted site updates.
constexpr double kMeasureWork = 0.5;

double mean_cluster_fraction(const SizeData& size) {
  double sum = 0;
  for (const auto& graph : size.samples.graphs) sum += graph.cluster_fraction.mean();
  const double mean = sum / static_cast<double>(size.samples.graphs.size());
  return std::isfinite(mean) ? mean : 0;
}

double cycle_work(const StudyConfig& config, const SizeData& size) {
  const EngineCosts& work = factory(config.engine).costs;
  const double cluster = size.plan.cluster == ClusterUpdate::wolff
                             ? work.flipped * mean_cluster_fraction(size)
                             : work.labelled;
  return size.plan.schedule.local + size.plan.schedule.cluster * cluster;
}

}  // namespace

ErrorSource error_source(const StudyConfig& config, const SizeData& size) {
  ErrorSource source;
  source.members = static_cast<double>(size.samples.graphs.size());
  source.measurements = static_cast<double>(size.plan.measure);
  const double samples =
      size.samples.sites * config.replicas * static_cast<double>(size.plan.temperatures.size());
  const double cycle = cycle_work(config, size);
  source.measure = samples * (cycle * static_cast<double>(size.plan.every) + kMeasureWork);
  const double warm =
      static_cast<double>(size.plan.warm_up.cycles) * (1 + factory(config.engine).costs.labelled);
  const double started = warm + cycle * static_cast<double>(size.plan.equilibrate);
  source.start = std::max(samples * started, samples * cycle) +
                 source.measure * static_cast<double>(size.plan.discard);
  source.most_members = std::max(source.members, static_cast<double>(config.most_graphs));
  source.most_measurements =
      std::max(source.measurements, std::floor(kLongest * source.start / source.measure));
  return source;
}

}  // namespace rewise

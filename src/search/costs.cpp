#include "src/search/costs.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>

#include "src/study/engines.hpp"

namespace rewise {
namespace {

// The scan for temperatures, in `sweep` and in `tc` with unknown Tc.
constexpr std::size_t kScanTasks = 4, kScanTemperatures = 30, kScanCycles = 400;

// Nanoseconds per site of a cycle: a cautious estimate. The cost of sweeps is per attempted update,
// that of cluster updates per site of the lattice, for clusters as large as near Tc.
double cycle_nanoseconds(EngineKind engine, const Model& model, ClusterUpdate cluster,
                         Schedule schedule) {
  const EngineCosts& costs = factory(engine).costs;
  const double local = model.is_potts() ? costs.potts_nanoseconds : costs.ising_nanoseconds;
  constexpr double labelled = 8;
  const double per_site = cluster == ClusterUpdate::wolff ? 1 : labelled;
  return local * schedule.local + per_site * schedule.cluster +
         (schedule.houdayer ? labelled / 2 : 0);
}

}  // namespace

std::size_t schedules_compared(const StudyConfig& config) {
  return config.schedule_per_p ? 1 : std::max<std::size_t>(1, config.schedules.size());
}

double cpu_seconds(const TaskSpec& spec, int threads) {
  return 1e-9 * site_count(spec) * static_cast<double>(spec.temperatures.size()) * spec.replicas *
         static_cast<double>(spec.cycles()) *
         cycle_nanoseconds(spec.engine, spec.model, spec.cluster, spec.schedule) / threads;
}

SizePlan likely_plan(const StudyConfig& config, std::size_t at) {
  SizePlan plan;
  plan.temperatures = config.temperatures;
  if (plan.temperatures.empty()) plan.temperatures.assign(kLikelyTemperatures, 1);
  plan.schedule = config.schedule_of(at).value_or(Schedule{1, 1});
  plan.cluster = config.cluster_of(at).value_or(ClusterUpdate::wolff);
  plan.equilibrate = config.equilibrate.value_or(kLikelyEquilibrate);
  plan.measure = config.measure.value_or(kLikelyMeasure);
  plan.every = config.every.value_or(kLikelyEvery);
  return plan;
}

double cpu_seconds(const StudyConfig& config, int threads) {
  if (config.target_error) return std::numeric_limits<double>::infinity();
  std::vector<std::vector<std::uint32_t>> sizes = config.sizes;
  // Estimate for imported graphs: about 10 bytes per line (bond) and two bonds per site.
  for (const auto& file : config.files) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file, error);
    sizes.push_back({error ? 0 : static_cast<std::uint32_t>(bytes / 20)});
  }
  double seconds = 0;
  for (std::size_t at = 0; at < config.p.size(); ++at) {
    std::vector<SizePlan> plans{likely_plan(config, at)};
    for (std::size_t k = 1; k < schedules_compared(config); ++k) {
      plans.push_back(plans.front());
      plans.back().schedule = config.schedules[k];
    }
    for (SizePlan& plan : plans) {
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        const double graphs = config.graphs[std::min(k, config.graphs.size() - 1)];
        seconds += graphs * cpu_seconds(plan_task(config, 0, sizes[k], 0, plan, ""), threads);
        if (!config.temperatures.empty()) continue;
        SizePlan scan = plan;
        scan.temperatures.assign(kScanTemperatures, 1);
        scan.equilibrate = kScanCycles;
        scan.measure = 0;
        seconds += kScanTasks * cpu_seconds(plan_task(config, 0, sizes[k], 0, scan, ""), threads);
      }
    }
  }
  return seconds * static_cast<double>(config.rules.size());
}

}  // namespace rewise

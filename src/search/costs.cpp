#include "src/search/costs.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>

#include "src/study/engines.hpp"
#include "src/study/parse.hpp"

namespace rewise {
namespace {

// The scan for temperatures, in `sweep` and in `tc` with unknown Tc.
constexpr double kScanTasks = 4, kScanTemperatures = 30, kScanCycles = 400;

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

double cpu_seconds(const TaskSpec& spec, int threads) {
  return 1e-9 * site_count(spec) * static_cast<double>(spec.temperatures.size()) * spec.replicas *
         static_cast<double>(spec.cycles()) *
         cycle_nanoseconds(spec.engine, spec.model, spec.cluster, spec.schedule) / threads;
}

double cpu_seconds(const StudyConfig& config, int threads) {
  if (config.target_error) return std::numeric_limits<double>::infinity();
  // Estimate for imported graphs: about 10 bytes per line (bond) and two bonds per site.
  std::vector<double> sites;
  for (const auto& extents : config.sizes) sites.push_back(site_count(extents));
  for (const auto& file : config.files) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file, error);
    sites.push_back(error ? 0 : static_cast<double>(bytes) / 20);
  }
  std::vector<Schedule> schedules(config.schedules.begin(), config.schedules.end());
  if (schedules.empty()) schedules.push_back(config.schedule.value_or(Schedule{1, 1}));
  for (Schedule& schedule : schedules) schedule.houdayer = config.houdayer;
  const double given = static_cast<double>(config.temperatures.size());
  const double cycles = static_cast<double>(config.equilibrate.value_or(kLikelyEquilibrate)) +
                        static_cast<double>(config.measure.value_or(kLikelyMeasure)) *
                            static_cast<double>(config.every.value_or(kLikelyEvery));
  double seconds = 0;
  for (std::size_t s = 0; s < schedules.size(); ++s) {
    const auto cluster = config.schedule_per_p ? config.cluster_of(s) : config.cluster;
    const double nanoseconds =
        cycle_nanoseconds(config.engine, config.model, cluster.value_or(ClusterUpdate::wolff),
                          schedules[s]) /
        (config.schedule_per_p ? static_cast<double>(config.p.size()) : 1);
    for (std::size_t k = 0; k < sites.size(); ++k) {
      const double graphs = config.graphs[std::min(k, config.graphs.size() - 1)];
      const double temperatures = given > 0 ? given : static_cast<double>(kLikelyTemperatures);
      const double scan = given > 0 ? 0 : kScanTasks * kScanTemperatures * kScanCycles;
      seconds += 1e-9 * sites[k] * nanoseconds * (graphs * temperatures * cycles + scan);
    }
  }
  return seconds * config.replicas * static_cast<double>(config.p.size() * config.rules.size()) /
         threads;
}

}  // namespace rewise

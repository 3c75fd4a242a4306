#include "src/search/costs.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>

#include "src/search/exchange_ladder.hpp"
#include "src/settings/engines.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

// Nanoseconds of a cluster update per site of the lattice, for clusters as large as near Tc:
// cautious estimates for all engines. EngineCosts has the work per site of a cluster, whose size is
// unknown here.
constexpr double kWolffNanoseconds = 1, kLabelledNanoseconds = 8;

// Nanoseconds per site of a cycle: a cautious estimate. The cost of sweeps is per attempted update.
double cycle_nanoseconds(EngineKind engine, const Model& model, ClusterUpdate cluster,
                         Schedule schedule) {
  const EngineCosts& costs = factory(engine).costs;
  const double local = model.is_potts() ? costs.potts_nanoseconds : costs.ising_nanoseconds;
  const double per_site =
      cluster == ClusterUpdate::wolff ? kWolffNanoseconds : kLabelledNanoseconds;
  return local * schedule.local + per_site * schedule.cluster +
         (schedule.houdayer ? kLabelledNanoseconds / 2 : 0);
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

SizePlan likely_plan(const StudyConfig& config, const LikelyCounts& likely, std::size_t at,
                     double sites) {
  SizePlan plan;
  plan.temperatures = config.temperatures;
  if (config.temperature_range) {
    plan.temperatures = likely_exchange_ladder(*config.temperature_range, sites);
  } else if (plan.temperatures.empty()) {
    plan.temperatures.assign(likely.temperatures, 1);
  }
  plan.schedule = config.schedule_of(at).value_or(Schedule{1, 1});
  plan.cluster = config.cluster_of(at).value_or(ClusterUpdate::wolff);
  plan.equilibrate = config.equilibrate.value_or(likely.equilibrate);
  plan.measure = config.measure.value_or(likely.measure);
  plan.every = config.every.value_or(likely.every);
  return plan;
}

namespace {

// The range of the scan of size number `k` at p number `at`. Without a given range, it is wide for
// the first size only: the next sizes are scanned around its result.
TemperatureRange likely_scan(const StudyConfig& config, std::size_t at, std::size_t k) {
  if (const auto& given = config.temperature_range) return *given;
  const auto dim = static_cast<int>(config.sizes[k].size());
  const double p = config.p[at];
  const TemperatureRange whole = scan_range(dim, config.rule(), p, config.model);
  if (k == 0 || config.sizes[k - 1].size() != config.sizes[k].size()) return whole;
  const double centre = std::sqrt(whole.from * whole.to);
  const double half =
      kSweepWindow * half_window(centre, dim, p, site_count(config.sizes[k - 1]), config.model.q);
  return {std::max(whole.from, centre - half), std::min(whole.to, centre + half)};
}

}  // namespace

double cpu_seconds(const StudyConfig& config, const LikelyCounts& likely, int threads) {
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
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const double sites = site_count(sizes[k]);
      const double graphs = config.graphs[std::min(k, config.graphs.size() - 1)];
      SizePlan plan = likely_plan(config, likely, at, sites);
      for (std::size_t n = 0; n < schedules_compared(config); ++n) {
        if (n > 0) plan.schedule = config.schedules[n];
        const auto seconds_of = [&](const SizePlan& one) {
          return cpu_seconds(plan_task(config, 0, sizes[k], 0, one, ""), threads);
        };
        seconds += graphs * seconds_of(plan);
        if (!config.temperatures.empty()) continue;
        seconds += kScanGraphs * seconds_of(scan_plan(plan, likely_scan(config, at, k), sites));
      }
    }
  }
  return seconds * static_cast<double>(config.rules.size());
}

}  // namespace rewise

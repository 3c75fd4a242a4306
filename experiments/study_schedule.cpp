#include "experiments/study_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/auto_schedule.hpp"
#include "experiments/options.hpp"

namespace rewise {

namespace {

// Microseconds per replica on an H200 (tests/bench/RESULTS.md): a sweep by the site; a Wolff update
// by what it waits for and by the sites it flips, for large clusters the dense form. Clusters at Tc
// flip 4 N^(-1/2) of the sites on rewired lattices, N^(-1/8) on regular ones.
constexpr double kSweepPerSite = 4e-7;

double wolff_microseconds(double p, double sites) {
  constexpr double wait = 0.42, per_flip = 3.5e-5, dense = 6e-6;
  const double share = std::min(1.0, p > 0 ? 4 / std::sqrt(sites) : std::pow(sites, -0.125));
  return wait + std::min(per_flip * share, dense) * sites;
}

double site_count(const TaskSpec& spec) {
  double sites = 1;
  for (const std::uint32_t extent : spec.graph.extents) sites *= extent;
  return sites;
}

// Of a task on one core, where no task has told yet.
double least_seconds(const TaskSpec& spec) {
  return 5e-9 * site_count(spec) * static_cast<double>(spec.temperatures.size() * spec.cycles());
}

}  // namespace

Schedule cuda_schedule(double p, double sites) {
  const double ratio =
      std::exp2(std::round(std::log2(wolff_microseconds(p, sites) / (kSweepPerSite * sites))));
  if (ratio >= 1) return {static_cast<std::uint32_t>(std::min(ratio, 64.0)), 1};
  return {1, static_cast<std::uint32_t>(std::min(1 / ratio, 64.0))};
}

double cuda_seconds(double p, double sites) {
  const Schedule schedule = cuda_schedule(p, sites);
  return 1e-6 *
         (schedule.local * kSweepPerSite * sites + schedule.cluster * wolff_microseconds(p, sites));
}

void take_schedule(const Study& study, const ClassWork& work, const StopToken& stop,
                   Progress& progress, SizePlan& plan) {
  const TaskSpec& spec = work.spec;
  const double sites = site_count(spec);
  const bool cuda = study.devices().front() >= 0;
  const bool gpu = cuda && spec.engine == "bundle" && spec.cluster == ClusterUpdate::wolff;
  const double on_core = std::max(cuda ? 0 : work.task_seconds, least_seconds(spec));
  ScheduleWish wish;
  wish.spec = spec;
  wish.any_cluster = !study.config().cluster;
  wish.work = work.tasks * on_core;
  const double replicas = static_cast<double>(spec.temperatures.size()) * spec.replicas;
  const double on_device =  // full, which tasks that ran alone were not
      gpu ? replicas * static_cast<double>(spec.cycles()) * cuda_seconds(spec.graph.p, sites)
          : work.task_seconds;
  const double workers = cuda ? static_cast<double>(study.devices().size())
                              : std::clamp<double>(study.threads(), 1, std::max(work.tasks, 1.0));
  wish.seconds = work.tasks * (cuda ? on_device : on_core) / workers;
  wish.options.device = study.devices().front();
  wish.rule_of_thumb = plan.schedule;
  wish.fallback = gpu ? cuda_schedule(spec.graph.p, sites) : plan.schedule;
  if (!work.neighbour.empty()) {
    wish.neighbour = spec;
    wish.neighbour->graph.extents = work.neighbour;
  }
  wish.options.threads = 1;
  const ChosenSchedule chosen = choose_schedule(study.folder(), wish, stop);
  if (chosen.tuned) {
    progress.line(fmt::format("p = {}, {}: schedule {}, {}", number_text(spec.graph.p),
                              extents_text(spec.graph.extents),
                              candidate_text({chosen.schedule, chosen.cluster}), chosen.reason));
  }
  plan.schedule = chosen.schedule;
  plan.cluster = chosen.cluster;
}

}  // namespace rewise

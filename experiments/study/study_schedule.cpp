#include "experiments/study/study_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/console/options.hpp"
#include "experiments/study/auto_schedule.hpp"
#include "experiments/study/costs.hpp"
#include "experiments/tune/cuda_rule.hpp"
#include "src/base/profile.hpp"

namespace rewise {

void take_schedule(const Study& study, const ClassWork& work, const StopToken& stop,
                   Progress& progress, SizePlan& plan) {
  const TaskSpec& spec = work.spec;
  const double sites = site_count(spec.graph.extents);
  const bool cuda = study.devices().front() >= 0;
  const bool gpu = cuda && spec.engine == EngineKind::bundle;
  const double on_core = std::max(cuda ? 0 : work.task_seconds, least_cpu_seconds(spec));
  ScheduleWish wish;
  wish.spec = spec;
  wish.improved = work.improved;
  wish.any_cluster = !study.config().cluster;
  wish.recompute_damaged = study.config().recompute_damaged;
  wish.rule_of_thumb = wish.fallback = {plan.schedule, spec.cluster};
  if (gpu) wish.fallback = cuda_candidate(spec, wish.any_cluster, sweeps_alone(spec));
  wish.work = work.tasks * on_core;
  const double replicas = static_cast<double>(spec.temperatures.size()) * spec.replicas;
  // Full, which tasks that ran alone were not. A cycle of sweeps alone is short, but takes more.
  const double cycle =
      std::max(cuda_seconds(wish.fallback.schedule, wish.fallback.cluster, spec.graph.p, sites),
               cuda_seconds({1, 1}, spec.cluster, spec.graph.p, sites));
  const double on_device =
      gpu ? replicas * static_cast<double>(spec.cycles()) * cycle : work.task_seconds;
  const double workers = cuda ? static_cast<double>(study.devices().size())
                              : std::clamp<double>(study.threads(), 1, std::max(work.tasks, 1.0));
  wish.seconds = work.tasks * (cuda ? on_device : on_core) / workers;
  wish.options.device = study.devices().front();
  if (!work.neighbour.empty()) {
    wish.neighbour = spec;
    wish.neighbour->graph.extents = work.neighbour;
  }
  wish.options.threads = 1;
  const profile::Span span(profile::Work::tune);
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

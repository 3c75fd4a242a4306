#include "experiments/study_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/auto_schedule.hpp"
#include "experiments/options.hpp"

namespace rewise {

Schedule cuda_schedule(double p, double sites) {
  // Microseconds per replica on an H200 (tests/bench/RESULTS.md): a sweep by the site; a Wolff
  // update by what it waits for and by the sites it flips, for large clusters the dense form.
  // Clusters at Tc flip 4 N^(-1/2) of the sites on rewired lattices, N^(-1/8) on regular ones.
  constexpr double per_site = 4e-7, wait = 0.42, per_flip = 3.5e-5, dense = 6e-6;
  const double share = std::min(1.0, p > 0 ? 4 / std::sqrt(sites) : std::pow(sites, -0.125));
  const double update = wait + std::min(per_flip * share, dense) * sites;
  const double ratio = std::exp2(std::round(std::log2(update / (per_site * sites))));
  if (ratio >= 1) return {static_cast<std::uint32_t>(std::min(ratio, 64.0)), 1};
  return {1, static_cast<std::uint32_t>(std::min(1 / ratio, 64.0))};
}

void take_schedule(const Study& study, const TaskSpec& spec, double work, const StopToken& stop,
                   Progress& progress, SizePlan& plan) {
  ScheduleWish wish;
  wish.spec = spec;
  wish.any_cluster = !study.config().cluster;
  wish.work = work;
  wish.options.device = study.devices().front();
  const bool gpu =
      wish.options.device >= 0 && spec.engine == "bundle" && spec.cluster == ClusterUpdate::wolff;
  double sites = 1;
  for (const std::uint32_t extent : spec.graph.extents) sites *= extent;
  wish.rule_of_thumb = plan.schedule;
  wish.fallback = gpu ? cuda_schedule(spec.graph.p, sites) : plan.schedule;
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

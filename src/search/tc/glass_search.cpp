#include "src/search/tc/glass_search.hpp"

#include <fmt/format.h>

#include "src/search/sweep/sweep_search.hpp"
#include "src/search/tc/glass_criterion.hpp"

namespace rewise {
namespace {

// Sets the graphs that the next round adds to every size of a point.
void decide_glass(const StudyConfig& config, SharedTarget& one) {
  const SweepResult now = analyse_point(config, *one.point);
  const GlassTc glass = locate_glass(now.p, now.sizes, now.crossings);
  const GrowthStep step = next_glass_step(config, glass, now.sizes, now.crossings);
  one.step = step;
  one.graphs.assign(step.members.begin(), step.members.end());
  one.progress->note(step);
}

}  // namespace

std::vector<SweepPoint> search_glass(Study& study, const StopToken& stop, Progress& progress,
                                     const DataHandlers<std::vector<SweepPoint>>& seen) {
  const StudyConfig& config = study.config();
  const auto open = [&](std::vector<SweepPoint>& points) {
    std::vector<SharedTarget> targets;
    for (SweepPoint& point : points) {
      point.target.emplace().requested = *config.target_error;
      targets.push_back({&point, 0, &*point.target});
    }
    return targets;
  };
  return SweepSearch(study, stop, progress, {})
      .run(
          open, [&](SharedTarget& one) { decide_glass(config, one); },
          [](std::size_t count) { return fmt::format("{} p", count); }, seen);
}

}  // namespace rewise

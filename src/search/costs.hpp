// Expected CPU seconds to an order of magnitude, from the measured figures of each engine
// (EngineCosts). Used to decide whether to start a GPU and whether to tune.
#pragma once

#include "src/search/size_plan.hpp"
#include "src/settings/config.hpp"
#include "src/settings/task_spec.hpp"

namespace rewise {

// Typical values that "auto" resolves to in the plans of a command.
struct LikelyCounts {
  std::uint64_t equilibrate, measure, every;
  std::size_t temperatures;
};
inline constexpr LikelyCounts kLikelyTc{60, 60, 2, 7}, kLikelySweep{60, 100, 5, 13};

// CPU seconds of all cycles of a task.
double cpu_seconds(const TaskSpec& spec, int threads);

// The plan of a size of `sites` sites at p number `at`, with `likely` for "auto".
SizePlan likely_plan(const StudyConfig& config, const LikelyCounts& likely, std::size_t at,
                     double sites);
// The number of schedules that every network is simulated with. With a schedule for each p it is 1.
std::size_t schedules_compared(const StudyConfig& config);

// CPU seconds of a study: the tasks for its results, and the scans that choose its temperatures.
// "auto" counts as `likely`; infinite with a target_error.
double cpu_seconds(const StudyConfig& config, const LikelyCounts& likely, int threads);

}  // namespace rewise

// Expected CPU seconds to an order of magnitude, from the measured figures of each engine
// (EngineCosts). Used to decide whether to start a GPU and whether to tune.
#pragma once

#include "src/search/tc_plan.hpp"
#include "src/study/config.hpp"
#include "src/study/task.hpp"

namespace rewise {

// Likely results of "auto" in a study's plan.
inline constexpr std::uint64_t kLikelyEquilibrate = 60, kLikelyMeasure = 60, kLikelyEvery = 2;
inline constexpr std::size_t kLikelyTemperatures = 7;

// All cycles of a task.
double cpu_seconds(const TaskSpec& spec, int threads);

// The plan of a size of `sites` sites at p number `at`, with kLikely.. for "auto".
SizePlan likely_plan(const StudyConfig& config, std::size_t at, double sites);
// The number of schedules that every network is simulated with. With a schedule for each p it is 1.
std::size_t schedules_compared(const StudyConfig& config);

// All tasks of a study for its results, and the scans that choose its temperatures. "auto" counts
// as kLikely..; infinite with a target_error.
double cpu_seconds(const StudyConfig& config, int threads);

}  // namespace rewise

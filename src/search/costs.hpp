// Expected CPU seconds to an order of magnitude, from the measured figures of each engine
// (EngineCosts). Used to decide whether to start a GPU and whether to tune.
#pragma once

#include "src/study/config.hpp"
#include "src/study/task.hpp"

namespace rewise {

// Likely results of "auto" in a study's plan.
inline constexpr std::uint64_t kLikelyEquilibrate = 60, kLikelyMeasure = 60, kLikelyEvery = 2;
inline constexpr std::size_t kLikelyTemperatures = 7;

// All cycles of a task.
double cpu_seconds(const TaskSpec& spec, int threads);

// All tasks of a study. "auto" counts as kLikely..; infinite with a target_error.
double cpu_seconds(const StudyConfig& config, int threads);

}  // namespace rewise

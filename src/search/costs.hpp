// Expected seconds on the CPU, to an order of magnitude, from the measured figures of each engine
// (EngineCosts): whether a GPU is worth its start, whether tuning pays.
#pragma once

#include "src/study/config.hpp"
#include "src/study/task.hpp"

namespace rewise {

// What "auto" in a study's plan is likely to become.
inline constexpr std::uint64_t kLikelyEquilibrate = 60, kLikelyMeasure = 60, kLikelyEvery = 2;
inline constexpr std::size_t kLikelyTemperatures = 10;

// All of a task.
double cpu_seconds(const TaskSpec& spec, int threads);

// All tasks of a study. What is "auto" in its plan counts as kLikely..; infinite under a
// target_error.
double cpu_seconds(const StudyConfig& config, int threads);

}  // namespace rewise

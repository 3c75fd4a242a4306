// What work costs, about, from the measured figures of each engine (EngineCosts): seconds on the
// CPU, for decisions that need no more than the order of magnitude (whether a GPU is
// worth its start, whether tuning pays), and work that is counted, not timed, for the rounds of a
// target_error, so that the same study does the same on every machine.
#pragma once

#include "analysis/scaling/allocation.hpp"
#include "src/search/size_curves.hpp"
#include "src/study/config.hpp"
#include "src/study/task.hpp"

namespace rewise {

// What "auto" in a study's plan is likely to become.
inline constexpr std::uint64_t kLikelyEquilibrate = 60, kLikelyMeasure = 60, kLikelyEvery = 2;
inline constexpr std::size_t kLikelyTemperatures = 10;

// All of a task on the CPU.
double cpu_seconds(const TaskSpec& spec, int threads);

// All tasks of a study, on that many threads, where its plan is "auto" by a likely one; infinite
// under a target_error.
double cpu_seconds(const StudyConfig& config, int threads);

// Of a task of the multispin engine on one core, at least: where no task has told yet.
double least_cpu_seconds(const TaskSpec& spec);

inline constexpr double kGrowth = 1.5;  // of all work, in one round at most
// The same where what is known of the errors says with some certainty that more is needed.
inline constexpr double kCertainGrowth = 4;
// The step that should reach the target aims a little below it: predictions have errors, too.
inline constexpr double kAim = 0.94;  // of the variance that the target leaves
// What a target is likely to make of the graphs that it begins with: what tuning is worth.
inline constexpr double kLikelyGrowth = 8;

// A size as a source of errors, all but covariance and thermal share: what it holds, what more
// graphs and measurements cost and how much more there may be. Work is counted in attempted
// single-site updates, others weighed by what they took in benchmarks.
ErrorSource error_source(const StudyConfig& config, const SizeData& size);

}  // namespace rewise

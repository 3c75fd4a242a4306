// What more graphs and measurements of a size cost, for the rounds of a target_error.
//
// Work is counted, not timed, so that the same study does the same on every machine: in attempted
// single-site updates, others weighed by what they took in benchmarks.
#pragma once

#include "analysis/scaling/allocation.hpp"
#include "experiments/study/config.hpp"
#include "experiments/study/size_curves.hpp"

namespace rewise {

inline constexpr double kGrowth = 1.5;  // of all work, in one round at most
// The step that should reach the target aims a little below it: predictions have errors, too.
inline constexpr double kAim = 0.94;  // of the variance that the target leaves
// What a target is likely to make of the graphs that it begins with: what tuning is worth.
inline constexpr double kLikelyGrowth = 8;

// A size as a source of errors, all but covariance and thermal share: what it holds, what more
// costs and how much more there may be.
ErrorSource error_source(const StudyConfig& config, const SizeData& size);

}  // namespace rewise

// Decides which additional graphs, measurements and sizes reduce the error of Tc at one p to the
// target_error with the least work. It is a pure function of the results so far, so processes that
// read the same results take the same step.
//
// Tc is fitted to crossings (analysis/scaling/extrapolation.hpp). Their covariance is a sum over
// sizes. The part of a size falls as graphs and measurements are added to it. The jackknife gives
// these parts; two halves of each graph's replicas separate thermal noise, which more measurements
// reduce, from the spread between graphs, which only more graphs reduce.
// analysis/scaling/allocation.hpp finds the additional graphs and measurements with the least work.
// One step adds at most half of the work done so far. It adds up to three times that work if the
// errors are known well enough to show that this is needed.
//
// The systematic error comes from the neglected term of the extrapolation. The covariance of that
// term enters the fit that distributes graphs. Sizes that contribute little get no graphs, and the
// systematic error falls as larger sizes get more weight. If it is most of the target, or U at the
// crossing is far from its mean-field value, a larger size is added. The target is reached if the
// error is below it even with the statistical part increased by the uncertainty of that part.
// Without this margin, a search would stop at errors that are too small by chance. If
// lattice.more_sizes and lattice.most_graphs are exhausted, the target is missed and the state says
// why. Work is counted in attempted single-site updates; see error_source() (rounds.hpp).
#pragma once

#include <string>
#include <vector>

#include "analysis/scaling/extrapolation.hpp"
#include "src/search/rounds.hpp"
#include "src/search/tc_search.hpp"
#include "src/study/config.hpp"

namespace rewise {

// The next step of an extrapolation: graphs and measurements to add per size, or a larger size.
// `error`: of the limit, statistical and systematic.
struct GrowthStep : RoundStep {
  bool another_size = false;                  // instead of graphs and measurements
  std::vector<double> share;                  // [size] of the statistical variance
  std::vector<double> members, measurements;  // [size] in the next step; empty if there is none
};

// `sources`: [size] the part of each size in the covariance of the crossings that the chosen fit
// uses. `may_add`: whether a larger size may be added.
GrowthStep growth_step(const StudyConfig& config, const Extrapolation& tc,
                       const std::vector<ErrorSource>& sources, bool may_add);

// `error`: of Tc, statistical and systematic.
struct TargetStep : RoundStep {
  bool another_size = false;          // instead of graphs and measurements
  std::vector<SizePlan> plans;        // [size], with the measurements of the next step
  std::vector<std::uint32_t> graphs;  // [size] of the next step
  std::vector<SizeTarget> sizes;      // share and thermal of each, NaN where there is no Tc
};

// For a study with a target_error. Every graph needs `measurements` and `thermal`
// (graph_sample.hpp).
TargetStep next_step(const StudyConfig& config, const PointData& point);

}  // namespace rewise

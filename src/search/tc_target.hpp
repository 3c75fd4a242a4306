// Decides which graphs, measurements and sizes bring Tc of one p closest to a target_error with the
// least work. It is a pure function of the graphs so far, so processes that see the same results
// take the same step.
//
// Tc is fitted to crossings (analysis/scaling/extrapolation.hpp). Each size contributes to their
// covariance a part that falls with its graphs and measurements. The jackknife gives these parts;
// two halves of each graph's replicas separate thermal noise, which more measurements reduce, from
// the spread between graphs, which only more graphs reduce. analysis/scaling/allocation.hpp finds
// the cheapest growth. One step adds at most half of the work done so far, or up to three times
// that work if the errors show with some certainty that it is needed.
//
// The systematic error is that of the neglected term of the extrapolation. Its covariance enters
// the fit that distributes graphs: sizes that contribute little get none, and it falls as the fit
// relies more on larger sizes. If it is most of the target, or U at the crossing is far from its
// mean-field value, a larger size is added. The target counts as reached once the error is below it
// by the error's own uncertainty; stopping at a lucky estimate would make errors too small. If
// lattice.more_sizes and lattice.most_graphs are exhausted, the target is missed and the state says
// why. Work is that of error_source() (rounds.hpp).
#pragma once

#include <string>
#include <vector>

#include "analysis/scaling/extrapolation.hpp"
#include "src/search/rounds.hpp"
#include "src/search/tc_search.hpp"
#include "src/study/config.hpp"

namespace rewise {

// Work on the sizes of an extrapolation. `error`: of its limit, statistical and systematic.
struct GrowthStep : RoundStep {
  bool another_size = false;                  // instead of graphs and measurements
  std::vector<double> share;                  // [size] of the statistical variance
  std::vector<double> members, measurements;  // [size] in the next step; empty if there is none
};

// `sources`: [size] the covariance of the crossings of the chosen fit. `may_add`: whether a larger
// size may be added.
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

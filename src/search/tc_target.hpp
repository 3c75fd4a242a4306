// What brings Tc of one p closest to a target_error for the least work: a pure function of the
// graphs so far, so that every process that sees the same results does the same next.
//
// The error of Tc is that of a fit to the crossings (analysis/scaling/extrapolation.hpp), to whose
// covariance each size adds a part that falls with its graphs and measurements. The jackknife gives
// these parts; two halves of each graph's replicas tell how much of them is thermal noise, which
// more measurements lower, and how much the spread between graphs, which only graphs do.
// analysis/scaling/allocation.hpp finds the cheapest growth to the target. One step takes half as
// much work again as was done, or what is needed less its uncertainty, up to four times as much:
// the parts are only as good as the graphs so far.
//
// The systematic error is that of the term which the extrapolation leaves out. Its covariance
// counts in the fit that graphs are dealt out for: sizes that are worth little for it get none, and
// where larger ones become known better the fit leans on them, and it falls. Where it is most of
// the target, or U at the crossing is far from its mean-field value, a larger size is what helps.
// The target is reached where the error is below it by its own uncertainty, since to stop at a
// lucky estimate would make errors too small. Adding one ends with lattice.more_sizes, adding
// graphs with lattice.most_graphs; the target is missed then, and the state says why. Work is that
// of error_source() (rounds.hpp).
#pragma once

#include <string>
#include <vector>

#include "src/search/rounds.hpp"
#include "src/search/tc_search.hpp"
#include "src/study/config.hpp"

namespace rewise {

// `error`: of Tc, statistical and systematic.
struct TargetStep : RoundStep {
  bool another_size = false;          // instead of graphs and measurements
  std::vector<SizePlan> plans;        // [size], with the measurements of the next step
  std::vector<std::uint32_t> graphs;  // [size] of the next step
  std::vector<SizeTarget> sizes;      // share and thermal of each, NaN where there is no Tc
};

// Of a study with a target_error. Every graph needs `measurements` and `thermal`
// (graph_sample.hpp).
TargetStep next_step(const StudyConfig& config, const PointData& point);

}  // namespace rewise

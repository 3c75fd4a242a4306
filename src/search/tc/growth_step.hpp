// The next step towards a target_error of a limit that is extrapolated over sizes (Tc, T_SG): the
// additional graphs and measurements with the least work, or a larger size.
//
// Statistical error. The limit is fitted to crossings (analysis/scaling/extrapolation.hpp). Their
// covariance is a sum over sizes, and the contribution of a size falls as graphs and measurements
// are added to it. Each contribution has two parts: thermal noise, which more measurements reduce,
// and the spread between graphs, which only more graphs reduce. analysis/scaling/allocation.hpp
// finds the additional graphs and measurements with the least work. One step adds at most half of
// the work done so far, or up to three times that work if the errors are known well enough to show
// that this is needed.
//
// Systematic error. It comes from the neglected term of the extrapolation, whose covariance enters
// the fit that distributes graphs. It falls as larger sizes get more weight. A larger size is added
// if the systematic error is most of the target.
//
// Stopping. The target is reached if the error is below it even after the statistical part is
// increased by its own uncertainty. Without this margin, a search would stop at errors that are too
// small by chance. If lattice.more_sizes and lattice.most_graphs are exhausted, the target is
// missed and RoundStep::stopped says why. Work is counted in attempted single-site updates; see
// error_source() (target_rounds.hpp).
#pragma once

#include <vector>

#include "analysis/scaling/extrapolation.hpp"
#include "src/search/target_rounds.hpp"

namespace rewise {

// The next step of an extrapolation: graphs and measurements to add per size, or a larger size.
// RoundStep::error is that of the limit, statistical and systematic.
struct GrowthStep : RoundStep {
  bool another_size = false;  // instead of graphs and measurements
  // [size] fraction of the statistical variance, and the part of it that more measurements reduce;
  // NaN if there is no result.
  std::vector<double> share, thermal;
  // [size] graphs, and measurements per graph, after the next step; empty if there is none.
  std::vector<double> members, measurements;
};

// `sources`: [size] sources of error, each with its contribution to the covariance of the crossings
// that the chosen fit uses. `may_add`: whether a larger size may be added.
GrowthStep growth_step(const StudyConfig& config, const Extrapolation& tc,
                       const std::vector<ErrorSource>& sources, bool may_add);

}  // namespace rewise

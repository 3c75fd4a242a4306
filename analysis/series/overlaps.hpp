// Observables of spin glasses, from overlaps of pairs of independent replicas of one graph:
//   q = (1/N) sum_i s_i s'_i,  q_l = (1/B) sum_bonds s_i s_j s'_i s'_j
//   chi_SG = N [<q^2>],  U_q = (3 - [<q^4>] / [<q^2>]^2) / 2
// U_q is Binder's ratio in the usual form for overlaps: 0 for a normal distribution, 1 for two
// sharp peaks.
// At a mean-field transition U_q and N^(2/3) [<q^2>] of different sizes cross. Averages are over
// times and pairs, then over graphs.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "analysis/series/moments.hpp"
#include "analysis/series/observables.hpp"

namespace rewise {

enum OverlapMoment : Eigen::Index { kOverlap2, kOverlap4, kLinkOverlap, kOverlapMomentCount };
using OverlapMoments = Eigen::Array<double, kOverlapMomentCount, 1>;
using OverlapRows = Eigen::Array<double, Eigen::Dynamic, kOverlapMomentCount>;  // [member, moment]

struct OverlapObservable : ObservableInfo {
  double (*value)(const OverlapMoments& m, double sites);
};

std::span<const OverlapObservable> overlap_observables();

// Returns [pairs * blocks_per_pair, moment]: one row per pair (its time average), or per block of
// times of a pair. The sums are [time, pair].
OverlapRows overlap_rows(IntSeriesRef overlap_sums, IntSeriesRef link_sums, double sites,
                         double bonds, Eigen::Index blocks_per_pair = 1);

// All overlap observables, by jackknife over independent rows: pairs of one graph, or graphs.
// [overlap_observables()]; errors are NaN for a single row.
std::vector<Value> overlap_values(const OverlapRows& rows, double sites);

}  // namespace rewise

// Computes e, m, |m|, m^2, m^4 from integer sums, and from those C, chi, dm/dh and Binder's U (J =
// 1, k_B = 1, everything per site).
//
//   e = -bond sum / N,  m = M / N (Potts: M = q N_max - N, m = M / (N (q - 1)))
//   C = N (<e^2> - <e>^2) / T^2,  chi = N (<m^2> - <|m|>^2) / T,  dm/dh = N (<m^2> - <m>^2) / T
//   U = 1 - [<m^4>] / (3 [<m^2>]^2): moments are averaged over graphs first
//
// <e>^2, <|m|>^2 and <m>^2 of a graph are squares of averages with statistical errors. The square
// of an average over a short series is too large on average, which makes C, chi and dm/dh too small
// by a fraction 2 tau_int/n, however many graphs there are. Products of independent averages
// therefore replace these squares. C, chi and dm/dh are then unbiased for series of any length.
// They are also linear in the moments, so the average of C over graphs is C of the averaged
// moments.
#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "analysis/series/coupled.hpp"
#include "analysis/series/statistics.hpp"
#include "src/model/sums.hpp"

namespace rewise {

// kEnergyPair, kAbsPair and kMagnetisationPair ("the pairs") estimate <e>^2, <|m|>^2 and <m>^2 by
// products of averages of two different replicas, averaged over all pairs of replicas. For a single
// replica, the products are of two blocks of time that are not neighbours.
enum Moment : Eigen::Index {
  kEnergy,
  kEnergySquared,
  kAbsMagnetisation,
  kM2,
  kM4,
  kMagnetisation,
  kEnergyPair,
  kAbsPair,
  kMagnetisationPair,
  kMomentCount
};

using Moments = Eigen::Array<double, kMomentCount, 1>;
using MomentRows = Eigen::Array<double, Eigen::Dynamic, kMomentCount>;  // [member, moment]

using IntSeries = Eigen::Array<std::int64_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using IntSeriesRef = Eigen::Ref<const IntSeries>;  // [time, replica], one temperature

// Replaces the pairs by plain squares: for exact averages, and if a jackknife removes the bias.
Moments with_squares(Moments m);

// The average of x_i x_j over pairs of different members of x [member]; NaN for one member.
// `in_time`: members are blocks of one series. If there are four blocks or more, pairs of
// neighbours are then left out; the first and the last block count as neighbours.
double mean_pair(const Eigen::ArrayXd& x, bool in_time = false);

// Averages over times and replicas. `pair_of_m2` receives an estimate of <m^2>^2 by products of
// averages, like the pairs. With coupled replicas (coupled.hpp), all products are of different
// members instead of replicas.
Moments mean_moments(IntSeriesRef bond_sums, IntSeriesRef magnetisation_sums,
                     const SampleUnits& units, double* pair_of_m2 = nullptr,
                     ReplicaDependence dependence = ReplicaDependence::none);

// One row per replica (its time average), or per block of times of a replica if there are few
// replicas: [replicas * blocks_per_replica, moment]; the blocks of one replica are adjacent. Pairs
// are squares of the row's own averages. With coupled replicas, one row per member.
MomentRows block_moments(IntSeriesRef bond_sums, IntSeriesRef magnetisation_sums,
                         const SampleUnits& units, Eigen::Index blocks_per_replica = 1,
                         ReplicaDependence dependence = ReplicaDependence::none);

double binder(const Moments& m);
double specific_heat(const Moments& m, double sites, double temperature);
double susceptibility(const Moments& m, double sites, double temperature);
// dm/dh, from the fluctuations of m itself.
double field_susceptibility(const Moments& m, double sites, double temperature);
double scaled_m2(const Moments& m, double sites);  // sqrt(N) m^2, crosses at a mean-field Tc

}  // namespace rewise

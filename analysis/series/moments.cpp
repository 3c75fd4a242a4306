#include "analysis/series/moments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "src/base/error.hpp"

namespace rewise {
namespace {

constexpr Eigen::Index kPairStretches = 8;  // blocks of the series of a single replica

void check_series(IntSeriesRef bond_sums, IntSeriesRef magnetisation_sums,
                  const SampleUnits& units) {
  if (bond_sums.rows() != magnetisation_sums.rows() ||
      bond_sums.cols() != magnetisation_sums.cols() || bond_sums.size() == 0) {
    throw Error(ExitCode::data, "energy and magnetisation series differ in shape or are empty");
  }
  const double most = magnetisation_sums.cast<double>().abs().maxCoeff();
  if (most > units.max_magnetisation) {
    throw Error(ExitCode::data, "magnetisation sum " + std::to_string(most) +
                                    " exceeds the largest possible " +
                                    std::to_string(units.max_magnetisation));
  }
}

// Each pair with the moment whose averages it multiplies.
constexpr std::pair<Moment, Moment> kPairs[] = {
    {kEnergyPair, kEnergy}, {kAbsPair, kAbsMagnetisation}, {kMagnetisationPair, kMagnetisation}};

// Replaces the pairs of each row by the squares of the row's own averages.
void square_pairs(MomentRows& rows) {
  for (const auto& [pair, moment] : kPairs) rows.col(pair) = rows.col(moment).square();
}

// Averages of each replica over times first .. first + length - 1, per site: [replica, moment]. The
// pairs are squares of the replica's own averages. All replicas of a time are processed together,
// because they are contiguous in memory.
MomentRows means_of_stretch(IntSeriesRef bond_sums, IntSeriesRef magnetisation_sums,
                            const SampleUnits& units, Eigen::Index first, Eigen::Index length) {
  const Eigen::Index replicas = bond_sums.cols();
  MomentRows sum = MomentRows::Zero(replicas, Eigen::Index{kMomentCount});
  Eigen::ArrayXd e(replicas), m(replicas);
  for (Eigen::Index t = first; t < first + length; ++t) {
    units.per_site(bond_sums.row(t).transpose().cast<double>(),
                   magnetisation_sums.row(t).transpose().cast<double>(), e, m);
    sum.col(kEnergy) += e;
    sum.col(kEnergySquared) += e * e;
    sum.col(kAbsMagnetisation) += m.abs();
    sum.col(kM2) += m * m;
    sum.col(kM4) += m * m * m * m;
    sum.col(kMagnetisation) += m;
  }
  sum /= static_cast<double>(length);
  square_pairs(sum);
  return sum;
}

}  // namespace

Moments with_squares(Moments m) {
  for (const auto& [pair, moment] : kPairs) m[pair] = m[moment] * m[moment];
  return m;
}

// With d = x - mean x, whose sum is 0, the mean over pairs is (mean x)^2 minus the contribution of
// the products that are not pairs. Every member is in the same number of pairs.
double mean_pair(const Eigen::ArrayXd& x, bool in_time) {
  const Eigen::Index n = x.size();
  if (n < 2) return std::numeric_limits<double>::quiet_NaN();
  const double mean = x.mean();
  const Eigen::ArrayXd d = x - mean;
  double left_out = d.square().sum();
  Eigen::Index partners = n - 1;
  if (in_time && n >= 4) {
    for (Eigen::Index i = 0; i < n; ++i) left_out += 2 * d[i] * d[(i + 1) % n];
    partners = n - 3;
  }
  return mean * mean - left_out / static_cast<double>(n * partners);
}

Moments mean_moments(IntSeriesRef bond_sums, IntSeriesRef magnetisation_sums,
                     const SampleUnits& units, double* pair_of_m2, ReplicaDependence dependence) {
  const MomentRows replica_moments =
      block_moments(bond_sums, magnetisation_sums, units, 1, dependence);
  const bool alone = replica_moments.rows() == 1;
  const MomentRows parts =
      alone ? block_moments(bond_sums, magnetisation_sums, units,
                            std::min<Eigen::Index>(kPairStretches, bond_sums.rows()), dependence)
            : replica_moments;
  // All moments use the same measurements as the pairs: C, chi and dm/dh contain N times their
  // difference.
  Moments mean = parts.colwise().mean().transpose();
  for (const auto& [pair, moment] : kPairs) mean[pair] = mean_pair(parts.col(moment), alone);
  if (pair_of_m2 != nullptr) *pair_of_m2 = mean_pair(parts.col(kM2), alone);
  return mean;
}

MomentRows block_moments(IntSeriesRef bond_sums, IntSeriesRef magnetisation_sums,
                         const SampleUnits& units, Eigen::Index blocks_per_replica,
                         ReplicaDependence dependence) {
  check_series(bond_sums, magnetisation_sums, units);
  if (blocks_per_replica < 1 || blocks_per_replica > bond_sums.rows()) {
    throw Error(ExitCode::internal, "block_moments: the number of blocks is out of range");
  }
  const Eigen::Index replicas = bond_sums.cols();
  const Eigen::Index length = bond_sums.rows() / blocks_per_replica;
  const Eigen::Index start = bond_sums.rows() - blocks_per_replica * length;
  MomentRows rows(replicas * blocks_per_replica, Eigen::Index{kMomentCount});
  for (Eigen::Index b = 0; b < blocks_per_replica; ++b) {
    const MomentRows block_mean =
        means_of_stretch(bond_sums, magnetisation_sums, units, start + b * length, length);
    for (Eigen::Index r = 0; r < replicas; ++r) {
      rows.row(r * blocks_per_replica + b) = block_mean.row(r);
    }
  }
  if (dependence == ReplicaDependence::none) return rows;
  rows = member_rows(rows, dependence, blocks_per_replica);
  square_pairs(rows);
  return rows;
}

double binder(const Moments& m) { return 1 - m[kM4] / (3 * m[kM2] * m[kM2]); }

double specific_heat(const Moments& m, double sites, double temperature) {
  return sites * (m[kEnergySquared] - m[kEnergyPair]) / (temperature * temperature);
}

double susceptibility(const Moments& m, double sites, double temperature) {
  return sites * (m[kM2] - m[kAbsPair]) / temperature;
}

double field_susceptibility(const Moments& m, double sites, double temperature) {
  return sites * (m[kM2] - m[kMagnetisationPair]) / temperature;
}

double scaled_m2(const Moments& m, double sites) { return std::sqrt(sites) * m[kM2]; }
}  // namespace rewise

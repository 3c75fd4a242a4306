#include "analysis/moments.hpp"

#include <cmath>
#include <string>

#include "analysis/jackknife.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

void check_series(IntSeriesRef bond_sums, IntSeriesRef magnetisation_sums,
                  const SampleUnits& units) {
  if (bond_sums.rows() != magnetisation_sums.rows() ||
      bond_sums.cols() != magnetisation_sums.cols() || bond_sums.size() == 0) {
    throw Error(ExitCode::data, "energy and magnetisation series differ in shape or are empty");
  }
  const double most = std::max(static_cast<double>(magnetisation_sums.maxCoeff()),
                               -static_cast<double>(magnetisation_sums.minCoeff()));
  if (most > units.order) {
    throw Error(ExitCode::data, "magnetisation sum " + std::to_string(most) +
                                    " exceeds the largest possible " + std::to_string(units.order));
  }
}

// Averages of replica r over times first .. first + length - 1.
Moments mean_of_stretch(IntSeriesRef bond_sums, IntSeriesRef magnetisation_sums,
                        const SampleUnits& units, Eigen::Index r, Eigen::Index first,
                        Eigen::Index length) {
  Moments sum = Moments::Zero();
  for (Eigen::Index t = first; t < first + length; ++t) {
    sum += moments_of_sample(bond_sums(t, r), magnetisation_sums(t, r), units);
  }
  return sum / static_cast<double>(length);
}

enum Derived : Eigen::Index { kBinder = kMomentCount, kC, kChi, kDerivedCount };

Thermodynamics as_thermodynamics(const Estimates& e) {
  return {e[kEnergy], e[kAbsMagnetisation], e[kM2], e[kM4], e[kBinder], e[kC], e[kChi]};
}

}  // namespace

Moments moments_of_sample(std::int64_t bond_sum, std::int64_t magnetisation_sum,
                          const SampleUnits& units) {
  const double e = -static_cast<double>(bond_sum) / units.sites;
  const double m = static_cast<double>(magnetisation_sum) / units.order;
  Moments result;
  result << e, e * e, std::abs(m), m * m, m * m * m * m;
  return result;
}

Moments mean_moments(IntSeriesRef bond_sums, IntSeriesRef magnetisation_sums,
                     const SampleUnits& units) {
  return block_moments(bond_sums, magnetisation_sums, units).colwise().mean().transpose();
}

MomentRows block_moments(IntSeriesRef bond_sums, IntSeriesRef magnetisation_sums,
                         const SampleUnits& units, Eigen::Index blocks_per_replica) {
  check_series(bond_sums, magnetisation_sums, units);
  if (blocks_per_replica < 1 || blocks_per_replica > bond_sums.rows()) {
    throw Error(ExitCode::internal, "block_moments: between 1 and as many blocks as times needed");
  }
  const Eigen::Index replicas = bond_sums.cols();
  const Eigen::Index length = bond_sums.rows() / blocks_per_replica;
  const Eigen::Index start = bond_sums.rows() - blocks_per_replica * length;
  MomentRows rows(replicas * blocks_per_replica, Eigen::Index{kMomentCount});
  for (Eigen::Index r = 0; r < replicas; ++r) {
    for (Eigen::Index b = 0; b < blocks_per_replica; ++b) {
      rows.row(r * blocks_per_replica + b) =
          mean_of_stretch(bond_sums, magnetisation_sums, units, r, start + b * length, length);
    }
  }
  return rows;
}

double binder(const Moments& m) { return 1 - m[kM4] / (3 * m[kM2] * m[kM2]); }

double specific_heat(const Moments& m, double sites, double temperature) {
  return sites * (m[kEnergySquared] - m[kEnergy] * m[kEnergy]) / (temperature * temperature);
}

double susceptibility(const Moments& m, double sites, double temperature) {
  return sites * (m[kM2] - m[kAbsMagnetisation] * m[kAbsMagnetisation]) / temperature;
}

double scaled_m2(const Moments& m, double sites) { return std::sqrt(sites) * m[kM2]; }

Thermodynamics thermodynamics_of_graph(const MomentRows& rows, double sites, double temperature) {
  const VectorFunction all = [&](const Eigen::VectorXd& mean) {
    const Moments m = mean.array();
    Eigen::VectorXd result(Eigen::Index{kDerivedCount});
    result << mean, binder(m), specific_heat(m, sites, temperature),
        susceptibility(m, sites, temperature);
    return result;
  };
  return as_thermodynamics(jackknife(rows, all));
}

Thermodynamics thermodynamics_over_graphs(const MomentRows& rows, double sites,
                                          double temperature) {
  Eigen::ArrayXXd columns(rows.rows(), kMomentCount + 2);
  columns.leftCols(kMomentCount) = rows;
  for (Eigen::Index g = 0; g < rows.rows(); ++g) {
    const Moments m = rows.row(g).transpose();
    columns(g, kMomentCount) = specific_heat(m, sites, temperature);
    columns(g, kMomentCount + 1) = susceptibility(m, sites, temperature);
  }
  const VectorFunction all = [](const Eigen::VectorXd& mean) {
    Eigen::VectorXd result(Eigen::Index{kDerivedCount});
    result << mean.head(kMomentCount), binder(mean.head(kMomentCount).array()), mean.tail(2);
    return result;
  };
  return as_thermodynamics(jackknife(columns, all));
}

}  // namespace rewise

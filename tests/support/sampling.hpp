// Runs an engine and computes time averages per temperature and replica for comparison with exact
// values. Replicas are independent, so their averages give errors without autocorrelation times.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/engine/engine.hpp"
#include "tests/support/statistics.hpp"

namespace rewise::oracle {

using EngineMaker = std::unique_ptr<Engine> (*)(const Graph&, const EngineSpec&,
                                                const EngineOptions&);

// Columns of a replica's row: time averages per site.
enum Column { kE, kE2, kAbsM, kM2, kM4, kCluster, kClusterQuartic, kColumns };

struct Lengths {
  std::uint64_t equilibrate = 200;  // cycles
  std::uint64_t measure = 100;      // measurements, one after each `every` cycles
  std::uint64_t every = 1;          // cycles
};

// The environment variable REWISE_LONG_TESTS=1 makes runs longer.
inline std::uint64_t longer(std::uint64_t usual, std::uint64_t factor = 20) {
  const char* text = std::getenv("REWISE_LONG_TESTS");
  return text != nullptr && std::string(text) == "1" ? factor * usual : usual;
}

// Returns the averages of all replicas at each temperature, [T][R][kColumns], and calls `also` with
// every measurement.
inline std::vector<std::vector<std::vector<double>>> sample(
    Engine& engine, const EngineSpec& spec, const Schedule& schedule, double sites,
    const Lengths& lengths, const std::function<void(const Observation&)>& also = {}) {
  std::vector<std::vector<std::vector<double>>> rows(
      spec.betas.size(),
      std::vector<std::vector<double>>(spec.replicas, std::vector<double>(kColumns, 0.0)));
  Observation seen;
  engine.advance(schedule, lengths.equilibrate);
  engine.measure(seen);
  for (std::uint64_t n = 0; n < lengths.measure; ++n) {
    engine.advance(schedule, lengths.every);
    engine.measure(seen);
    if (also) also(seen);
    for (std::size_t k = 0; k < seen.bond_sum.size(); ++k) {
      auto& row = rows[k / spec.replicas][k % spec.replicas];
      const double e = -static_cast<double>(seen.bond_sum[k]) / sites;
      const double m = static_cast<double>(seen.magnetisation[k]) / (sites * (spec.model.q - 1.0));
      row[kE] += e;
      row[kE2] += e * e;
      row[kAbsM] += std::abs(m);
      row[kM2] += m * m;
      row[kM4] += m * m * m * m;
      if (seen.cluster_size.empty()) continue;
      const auto updates = static_cast<double>(seen.cluster_updates);
      const bool wolff = spec.cluster == ClusterUpdate::wolff;
      row[kCluster] +=
          static_cast<double>(seen.cluster_size[k]) / updates / (wolff ? sites : sites * sites);
      if (seen.cluster_quartic_low.empty()) continue;
      // The quartic sum of the engine is that for q = 2. For a single update, the sum of squares
      // converts it to any q.
      const double extra =
          (spec.model.q - 2.0) * std::pow(static_cast<double>(seen.cluster_size[k]), 2);
      const double quartic = std::ldexp(static_cast<double>(seen.cluster_quartic_high[k]), 64) +
                             static_cast<double>(seen.cluster_quartic_low[k]) + extra;
      row[kClusterQuartic] += quartic / updates / ((spec.model.q - 1.0) * std::pow(sites, 4));
    }
  }
  for (auto& replicas : rows) {
    for (auto& row : replicas) {
      for (double& v : row) v /= static_cast<double>(lengths.measure);
    }
  }
  return rows;
}

inline double binder_of(const std::vector<double>& mean) {
  return 1 - mean[kM4] / (3 * mean[kM2] * mean[kM2]);
}

inline Estimate column(const std::vector<std::vector<double>>& rows, Column which) {
  std::vector<double> values;
  for (const auto& row : rows) values.push_back(row[which]);
  return mean_of(values);
}

}  // namespace rewise::oracle

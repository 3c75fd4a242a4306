// Checks of engines on lattices too large to enumerate: Kaufman's exact e and C, identities between
// estimators, and published autocorrelation times. Errors come from independent replicas, and each
// check requires |z| < 4. The probability of a false alarm is 6.3e-5 per check and 1/150 for the
// about 100 checks of an engine.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/kaufman.hpp"
#include "tests/support/sampling.hpp"

namespace rewise::oracle {

inline const double kTcSquare = 2 / std::log(1 + std::sqrt(2.0));

struct LargeRun {
  EngineMaker make;
  LocalUpdate local;
  ClusterUpdate cluster;
  Schedule schedule;
  std::uint32_t replicas;
  Lengths lengths;
  std::uint64_t seed;
};

inline std::vector<std::vector<std::vector<double>>> rows_of(const LargeRun& run,
                                                             const Graph& graph,
                                                             const std::vector<double>& betas) {
  EngineSpec spec;
  spec.betas = betas;
  spec.replicas = run.replicas;
  spec.seed = run.seed;
  spec.local = run.local;
  spec.cluster = run.cluster;
  EngineOptions options;
  options.threads = 1;
  const auto engine = run.make(graph, spec, options);
  return sample(*engine, spec, run.schedule, static_cast<double>(graph.sites()), run.lengths);
}

// e and C of the L x L torus at T = 2.0, Tc, 2.4 and 3.0.
inline void compare_with_kaufman(const LargeRun& run, std::uint32_t L) {
  const std::vector<double> betas = {1 / 2.0, 1 / kTcSquare, 1 / 2.4, 1 / 3.0};
  const Graph graph = build_graph({{L, L}, 0, Rule::rewire, 1});
  const auto rows = rows_of(run, graph, betas);
  for (std::size_t t = 0; t < betas.size(); ++t) {
    const TorusAverages exact = kaufman(static_cast<int>(L), betas[t]);
    const double scale = double{1} * L * L * betas[t] * betas[t];
    const Estimate heat = jackknife(rows[t], [scale](const std::vector<double>& mean) {
      return scale * (mean[kE2] - mean[kE] * mean[kE]);
    });
    const Estimate energy = column(rows[t], kE);
    INFO("L = " << L << ", T = " << 1 / betas[t] << ", schedule " << to_string(run.schedule)
                << ": e = " << energy.value << " +- " << energy.error << " (exact " << exact.energy
                << "), C = " << heat.value << " +- " << heat.error << " (exact "
                << exact.specific_heat << ")");
    CHECK(std::abs(energy.z(exact.energy)) < 4);
    CHECK(std::abs(heat.z(exact.specific_heat)) < 4);
  }
}

// z of the difference between two estimators of the same quantity. The error comes from the
// differences within each replica.
inline double difference_z(const std::vector<std::vector<double>>& rows, Column a, Column b) {
  std::vector<double> differences;
  for (const auto& row : rows) differences.push_back(row[a] - row[b]);
  return mean_of(differences).z(0);
}

// tau_int (1/2 for white noise) from the variance of time averages over replicas:
//     n Var(mean) / Var(x) = 2 tau (1 - tau / n),
// where the last factor holds for an exponential decay to first order in tau / n.
inline Estimate tau_of(const std::vector<std::vector<double>>& rows, Column mean, Column square,
                       std::uint64_t measurements) {
  const auto n = static_cast<double>(measurements);
  std::vector<std::vector<double>> moments;
  for (const auto& row : rows) moments.push_back({row[mean], row[square], row[mean] * row[mean]});
  return jackknife(moments, [n](const std::vector<double>& m) {
    const double ratio = n * (m[2] - m[0] * m[0]) / (m[1] - m[0] * m[0]);
    return n / 2 * (1 - std::sqrt(1 - 2 * ratio / n));
  });
}

// (tau - published value) over the combined error of both.
inline double published_z(const Estimate& tau, double value, double error) {
  return (tau.value - value) / std::hypot(tau.error, error);
}

}  // namespace rewise::oracle

// Engines against exact enumeration: many small graphs, every update, three temperatures each.
//
// z = (engine - exact) / error, with the error from the time averages of 256 or more independent
// replicas. With 255 degrees of freedom, the t distribution has variance 1.008 and P(|z| > 4) is
// 8.3e-5. Every |z| must be below 4.
//
// In addition, one quantity of each run and temperature (in rotation) enters the distribution
// tests. These values are independent, since each run has its own seed. Together they must be
// N(0, 1): Anderson-Darling p > 1e-4, mean and variance within 4 standard errors.
//
// With random seeds a correct engine would fail in about 1 of 15 cases (1500 checks, many of them
// correlated). The seeds are fixed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/support/cases.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/sampling.hpp"

namespace rewise::oracle {

// Collected z-scores.
struct Scores {
  std::vector<double> independent;  // one per run and temperature
  double largest = 0;
  std::size_t checks = 0;
};

// Length of a run.
struct Effort {
  std::uint32_t replicas;
  Lengths lengths;
};

struct Run {
  const SmallGraph& on;
  const Update& update;
  EngineMaker make;
  std::uint64_t seed;
  Effort effort;
  std::uint32_t potts = 0;  // number of states, 0 = Ising
};

// Compares one run. If `limit` is positive, |z| < limit is checked. `exact_at` multiplies the
// temperature of the oracle; values other than 1 test that the comparison detects an error.
template <class States>
void compare(const Run& run, const States& states, double limit, double exact_at, Scores& scores) {
  EngineSpec spec;
  for (const double t : run.on.temperatures) spec.betas.push_back(1 / t);
  spec.replicas = run.effort.replicas;
  spec.seed = run.seed;
  spec.local = run.update.local;
  spec.cluster = run.update.cluster;
  spec.few_cluster.tile = run.update.tile;
  spec.few_cluster.flip = run.update.flip;
  if (run.potts > 0) {
    spec.model.kind = ModelKind::potts;
    spec.model.q = run.potts;
  }
  EngineOptions options;
  options.threads = 1;
  const auto engine = run.make(run.on.graph, spec, options);
  const auto rows =
      sample(*engine, spec, run.update.schedule, run.on.list.sites, run.effort.lengths);
  for (std::size_t t = 0; t < spec.betas.size(); ++t) {
    const Averages exact = states.at(spec.betas[t] / exact_at);
    std::vector<std::pair<std::string, double>> z = {
        {"e", column(rows[t], kE).z(exact.energy)},
        {"|m|", column(rows[t], kAbsM).z(exact.abs_m)},
        {"m^2", column(rows[t], kM2).z(exact.m2)},
        {"m^4", column(rows[t], kM4).z(exact.m4)},
        {"U", jackknife(rows[t], binder_of).z(exact.binder)}};
    if (run.update.schedule.cluster > 0) {
      z.emplace_back("clusters", column(rows[t], kCluster).z(exact.cluster));
      const bool one = run.update.schedule.cluster == 1;  // one cluster update per measurement
      if (spec.cluster == ClusterUpdate::swendsen_wang && (spec.model.q == 2 || one)) {
        z.emplace_back("m^4 by clusters",
                       column(rows[t], kClusterQuartic).z(exact.cluster_quartic));
      }
    }
    for (const auto& [name, value] : z) {
      scores.largest = std::max(scores.largest, std::abs(value));
      ++scores.checks;
      if (limit <= 0) continue;
      INFO(engine->name() << ", " << run.update.name << ", " << run.on.name << ", T = "
                          << run.on.temperatures[t] << ", " << name << ": z = " << value);
      CHECK(std::abs(value) < limit);
    }
    scores.independent.push_back(z[scores.independent.size() % z.size()].second);
  }
}

inline void check_distribution(const Scores& scores, std::size_t least) {
  const Normality fit = normality(scores.independent);
  WARN(scores.checks << " checks, largest |z| " << scores.largest << "; of "
                     << scores.independent.size()
                     << " independent z: Anderson-Darling p = " << fit.p << ", mean " << fit.mean_z
                     << " and variance " << fit.variance_z << " standard errors from N(0, 1)");
  CHECK(scores.checks >= least);
  CHECK(fit.p > 1e-4);
  CHECK(std::abs(fit.mean_z) < 4);
  CHECK(std::abs(fit.variance_z) < 4);
}

// All small graphs: every pure update on each of them, mixed schedules on every second one.
inline void compare_all(EngineMaker make, const std::vector<Update>& updates, std::uint64_t seed,
                        const Effort& effort, Scores& scores) {
  const auto graphs = small_graphs();
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    REQUIRE(difference(graphs[g].graph, graphs[g].list) == "");
    const IsingStates states(graphs[g].list);
    for (std::size_t u = 0; u < updates.size(); ++u) {
      const Update& update = updates[u];
      const bool mix = update.schedule.local > 0 && update.schedule.cluster > 0;
      if (mix && (g + u) % 2 != 0) continue;
      if (update.local == LocalUpdate::metropolis && update.schedule.cluster == 0 &&
          !graphs[g].metropolis_mixes) {
        continue;
      }
      compare({graphs[g], update, make, seed + 100 * g + u, effort}, states, 4, 1, scores);
    }
  }
}

}  // namespace rewise::oracle

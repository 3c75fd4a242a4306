// The part of a finished task that `tc` and `sweep` store: thermal averages of one graph at the
// simulated temperatures and, by multi-histogram reweighting, on a fine grid between them.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "analysis/scaling/curves.hpp"
#include "analysis/scaling/peaks.hpp"
#include "analysis/series/overlaps.hpp"
#include "src/results/hot_cold.hpp"
#include "src/results/task_results.hpp"
#include "src/settings/task_spec.hpp"

namespace rewise {

struct GraphSample {
  std::uint64_t seed = 0;  // of the graph
  MomentRows simulated;    // [T, moment]
  MomentRows fine_grid;    // [grid, moment]
  // Half the difference between two halves of the replicas, for `fine_grid` and `simulated`: a
  // sample of the thermal noise. May be empty.
  MomentRows thermal_noise;            // [grid, moment]
  MomentRows simulated_thermal_noise;  // [T, moment]
  Eigen::ArrayXd m2_pair;              // [T] <m^2>^2 from pairs of different replicas
  Eigen::ArrayXd tau;                  // [T] tau_of_order(), cycles
  // [T] the lower bound of tau_int of the order parameter or q^2, in cycles, where the series is
  // too short to determine it; else 0.
  Eigen::ArrayXd tau_bound;
  bool in_field = false;            // is_in_field()
  HotColdDifference halves;         // replicas with random start minus those with ordered start
  std::vector<std::string> stuck;   // [T] stuck_replicas(), by tau_int of m^2
  Eigen::ArrayXd cluster_fraction;  // [T] see task_results.hpp
  OverlapRows overlaps;             // [T] averages over pairs; may be empty
  std::vector<Value> overlap_tau;   // [T] tau_of_overlap(), or none
  OverlapRows overlap_changes;      // [T] overlap_changes_of(), averaged in the same way
  // [T] q_l - (1 + T e N / B), of which the mean over couplings is 0 in equilibrium. Empty unless
  // Interactions::all_gaussian() and there are overlaps.
  Eigen::ArrayXd gaussian_excess;
  MomentRows staggered;                 // [T, moment] with m_s in place of m; may be empty
  GraphPeaks peaks;                     // if peaks are requested
  double rewired_ends = 0, sum_k2 = 0;  // the control variates
  // Improved minus plain estimators of m^2 and m^4 (Swendsen-Wang), and half their difference
  // between halves of the replicas, with the sign of `thermal_noise`. [T, 2], or empty.
  Eigen::ArrayX2d improved, improved_thermal_noise;
  std::optional<ExchangeResult> exchange;
  std::uint64_t measurements = 0;  // used measurements per replica
  std::uint64_t discarded = 0;     // measurements dropped before them
};

struct SampleOptions {
  bool thermal_noise = false;            // also sample the thermal noise; needs two replicas
  std::uint64_t discard = 0;             // measurements to drop first
  const EnergyGrid* energies = nullptr;  // if given, also determine peaks, and remove from
                                         // `fine_grid` the bias of short series
};

// Reduces the measurements of a task. `grid`: fine temperatures within the range of the simulated
// ones; may be empty. Cost: one pass over the samples plus (bins x temperatures) per grid point;
// three times that with the thermal noise.
GraphSample graph_sample(const TaskSpec& spec, TaskData data, const Eigen::ArrayXd& grid,
                         const SampleOptions& options = {});

// The samples of many graphs of one size at one p.
struct SizeSamples {
  double sites = 0;
  Eigen::ArrayXd grid;
  std::optional<EnergyGrid> energies;  // energy grid of histograms if peaks are requested
  double m2_power = 0.5;               // scaled_m2 = N^m2_power <m^2>
  GraphSpec spec;                      // any of the graphs; gives the exact means of controls
  bool improved = false;               // use improved estimators as control variates, too
  std::vector<GraphSample> graphs;
};

// Input of the estimators in analysis/: moments per graph, and controls with their exact means.
MomentTable fine_grid_table(const SizeSamples& samples);
MomentTable thermal_noise_table(const SizeSamples& samples);  // all graphs need `thermal_noise`
MomentTable simulated_table(const SizeSamples& samples, const std::vector<double>& temperatures);
// With m_s in place of m; without entries if a graph has no staggered magnetisation.
MomentTable staggered_table(const SizeSamples& samples, const std::vector<double>& temperatures);
MomentTable simulated_thermal_noise_table(const SizeSamples& samples,
                                          const std::vector<double>& temperatures);
ControlVariates controls(const SizeSamples& samples);

}  // namespace rewise

// What `tc` and `sweep` keep of a finished task: the thermal averages of one graph, at the
// temperatures that were simulated and, by multi-histogram reweighting, on a fine grid between
// them.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "analysis/scaling/curves.hpp"
#include "analysis/scaling/peaks.hpp"
#include "analysis/series/overlaps.hpp"
#include "src/study/halves.hpp"
#include "src/study/task.hpp"

namespace rewise {

struct GraphSample {
  MomentRows simulated;  // [T, moment]
  MomentRows fine;       // [grid, moment]
  // Half the difference of two halves of the replicas, which varies as the thermal noise does, or
  // nothing: of `fine` and of `simulated`.
  MomentRows thermal;                   // [grid, moment]
  MomentRows simulated_thermal;         // [T, moment]
  Eigen::ArrayXd m2_pair;               // [T] <m^2>^2, of different replicas
  Eigen::ArrayXd tau;                   // [T] tau_int of m^2, cycles
  Halves halves;                        // replicas that started hot against cold ones
  std::vector<std::string> stuck;       // [T] stuck_replicas(), by tau_int of m^2
  Eigen::ArrayXd cluster_fraction;      // [T] as in task_results.hpp
  OverlapRows overlaps;                 // [T] averages over pairs, or nothing
  OverlapRows overlap_changes;          // [T] likewise of overlap_changes_of()
  GraphPeaks peaks;                     // where they are looked for
  double rewired_ends = 0, sum_k2 = 0;  // the control variates
  // Of Swendsen-Wang's m^2 and m^4 by improved estimators less the plain ones, and half the
  // difference of that between the halves of the replicas, signed as `thermal`; [T, 2], or nothing.
  Eigen::ArrayX2d improved, improved_thermal;
  std::uint64_t measurements = 0;  // that went in, per replica
  std::uint64_t discarded = 0;     // before them
};

// Of a task's measurements from number `discard` on.
// `grid`: the fine temperatures, within the simulated ones; may be empty. Cost: one pass over the
// samples and (bins x temperatures) per grid point, three times that with `thermal` (which needs
// two replicas). `energies`: peaks are looked for as well, and `fine` is without the bias of short
// series.
GraphSample reduce(const TaskSpec& spec, TaskData data, const Eigen::ArrayXd& grid,
                   bool thermal = false, std::uint64_t discard = 0,
                   const EnergyGrid* energies = nullptr);

// The samples of many graphs of one size at one p.
struct SizeSamples {
  double sites = 0;
  Eigen::ArrayXd grid;
  std::optional<EnergyGrid> energies;  // of histograms, where peaks are looked for
  double m2_power = 0.5;               // scaled_m2 = N^m2_power <m^2>
  GraphSpec spec;                      // of any of the graphs: their exact means
  bool improved = false;               // estimators of clusters count as controls, too
  std::vector<GraphSample> graphs;
};

// Leaves of analysis/: moments per graph, and the controls with their exact means.
MomentTable fine_table(const SizeSamples& samples);
MomentTable thermal_table(const SizeSamples& samples);  // of graphs that all have `thermal`
MomentTable simulated_table(const SizeSamples& samples, const std::vector<double>& temperatures);
MomentTable simulated_thermal_table(const SizeSamples& samples,
                                    const std::vector<double>& temperatures);
ControlVariates controls(const SizeSamples& samples);

}  // namespace rewise

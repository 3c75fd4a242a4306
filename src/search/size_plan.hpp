// Plans the simulations of `tc`: temperature windows, schedule, equilibration, measurements.
//
// For N sites, the temperature window around the current estimate of Tc spans a few widths of an
// energy histogram. These widths scale as N^(-1/2) (for p = 0 in two dimensions this is also 1/L).
// Neighbouring temperatures therefore overlap, and multi-histogram reweighting joins them. All
// functions depend only on the configuration and on the results of earlier tasks, so that a
// repeated study plans the same tasks.
#pragma once

#include <optional>
#include <vector>

#include "src/study/study.hpp"

namespace rewise {

// The plan of one size at one p.
struct SizePlan : Updates {
  std::vector<double> temperatures;  // ascending
  std::uint64_t equilibrate = 0, measure = 0, every = 1;
  WarmUp warm_up;
  std::uint64_t discard = 0;  // measurements dropped before the `measure` used ones
};

// Number of graphs of a size that locate the crossing before the others are computed. It is fixed,
// so that the temperature windows do not depend on the total number of graphs.
inline constexpr std::uint32_t kPilotGraphs = 16;

// Minimum number of graphs per size. With fewer, the spread between graphs is too uncertain for an
// error.
inline constexpr std::uint32_t kMinGraphs = 8;

// Range of the coarse scan: from below the transition of the regular lattice to above that of the
// locally tree-like graph with the same degrees. Tc of every rewired lattice lies between. This is
// a range for the search, not an estimate. With b = <k(k-1)>/<k>, that graph has
//   Ising  b tanh(1/T) = 1        Potts  exp(1/T) = (q - 2) / ((q - 1)^(1 - 2/(b + 1)) - 1)
// (equal for q = 2; for q > 2, order and disorder coexist there: Galanis et al., SIAM J. Comput.
// 45, 2004 (2016), regular degrees).
TemperatureRange scan_range(int dim, Rule rule, double p, const Model& model = {});

inline TemperatureRange scan_range(const StudyConfig& config, double p) {
  return scan_range(config.dim(), config.rule(), p, config.model);
}

// Likely range of Tc of Ising spins, within scan_range(); scan_range() itself for p = 0, chains and
// Potts. Shortcuts order the lattice once the correlation volume around each shortcut end contains,
// on average, one end of another shortcut: 2 d p tanh(1/T) chi = 1 with chi = a ((T -
// Tc)/Tc)^-gamma of the regular lattice. All rules except `add` also remove bonds, which lowers Tc.
TemperatureRange likely_range(const StudyConfig& config, double p);

// Temperatures of the scan, close enough that histograms of `sites` sites overlap.
std::vector<double> scan_temperatures(TemperatureRange range, double sites);
// A copy of `plan` with the temperatures and the numbers of cycles of a scan. These numbers suit
// local updates.
SizePlan scan_plan(SizePlan plan, TemperatureRange range, double sites);
inline constexpr std::uint32_t kScanGraphs = 4;  // per size

// Half width of a size's window around `centre`, proportional to N^-y with the exponent y of the
// transition (1/2 for p > 0). q: number of states.
double half_window(double centre, int dim, double p, double sites, std::uint32_t q = 2);
inline double half_window(const StudyConfig& config, double centre, double p, double sites) {
  return half_window(centre, config.dim(), p, sites, config.model.q);
}
inline constexpr double kSweepWindow = 2;  // half windows on either side in `sweep`
// Temperatures of a window. `centre` is rounded to 1/16 of the half width, so that a slightly
// different estimate usually gives the same temperatures and thus the same tasks.
std::vector<double> window_temperatures(double centre, double half_width, int count = 6);

// Rule of thumb for an "auto" schedule of Wolff updates: 1:1 at p = 0; at p > 0, N^(1/2)/128 Wolff
// updates per sweep (at least 1), because Metropolis slows down as N^(1/2), whereas the fraction of
// sites in a Wolff cluster falls.
Schedule automatic_schedule(double p, double sites);

// A plan with the given schedule and cluster update. Where one is missing, a provisional choice is
// used until tuning.
SizePlan first_plan(const std::optional<Schedule>& schedule,
                    const std::optional<ClusterUpdate>& cluster, double p, double sites);

// Sets cycles per measurement and measurements from `tau`, tau_int of m^2 in cycles: one
// measurement per tau. At p > 0 there are 20 measurements: with 32 replicas, the thermal error of U
// per graph is then about half of the spread between graphs (about 0.04). To reduce the error
// further, more graphs cost less than more cycles. At p = 0 all graphs are equal, so that only
// cycles reduce the error: 60 measurements.
void choose_times(const StudyConfig& config, double p, double tau, SizePlan& plan);

// Initial number of measurements per graph with a target_error, if p > 0 and the configuration does
// not fix it. It suffices to separate thermal noise from the spread between graphs. Rounds add the
// measurements that the target needs (tc/crossings_target.hpp); a large target_error needs none.
std::uint64_t first_measurements(std::uint32_t replicas);

// Initial number of graphs of the size with this index; at least kPilotGraphs with a target_error.
std::uint32_t first_graphs(const StudyConfig& config, std::size_t size);

inline bool begins_short(const StudyConfig& config, double p) {
  return config.target_error && !config.measure && p > 0;
}

// The task of graph number `graph` under a plan.
TaskSpec plan_task(const StudyConfig& config, double p, const std::vector<std::uint32_t>& extents,
                   std::uint32_t graph, const SizePlan& plan, const std::string& purpose);

}  // namespace rewise

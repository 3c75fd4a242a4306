// How `tc` chooses what to simulate: temperature windows, schedule, equilibration, measurements.
//
// A window of size N around the running estimate of Tc is a few spacings of the histogram wide,
// N^(-1/2) (which for p = 0 in two dimensions is 1/L as well), so neighbouring temperatures overlap
// and multi-histogram reweighting joins them. Everything here is a function of earlier tasks'
// numbers and of the configuration alone: running a study again plans the same tasks.
#pragma once

#include <optional>
#include <vector>

#include "src/study/study.hpp"

namespace rewise {

// The plan for one size at one p.
struct SizePlan {
  std::vector<double> temperatures;  // ascending
  Schedule schedule;
  std::uint64_t equilibrate = 0, measure = 0, every = 1;
  ClusterUpdate cluster = ClusterUpdate::wolff;
  WarmUp warm_up;
  std::uint64_t discard = 0;  // measurements before the `measure` that count
};

// How many graphs of a size locate the crossing before the rest is computed; fixed, so that asking
// for more graphs changes no window.
inline constexpr std::uint32_t kPilotGraphs = 16;

// With fewer of a size their spread is not known well enough for an error.
inline constexpr std::uint32_t kLeastGraphs = 8;

struct Range {
  double low = 0, high = 0;
};

// Where the coarse scan looks: from below the transition of the regular lattice to above that of
// the locally tree-like graph with the same degrees, between which every rewired lattice's Tc lies.
// A range to search, never an answer. With b = <k(k-1)>/<k>, that graph has
//   Ising  b tanh(1/T) = 1        Potts  exp(1/T) = (q - 2) / ((q - 1)^(1 - 2/(b + 1)) - 1)
// (the same for q = 2; for more states order and disorder coexist there: Galanis et al., SIAM J.
// Comput. 45, 2004 (2016), regular degrees).
Range scan_range(int dim, Rule rule, double p, const Model& model = {});

inline Range scan_range(const StudyConfig& config, double p) {
  return scan_range(config.dim(), config.rule, p, config.model);
}

// Where Tc of Ising spins is likely to be, within scan_range; scan_range itself for p = 0, chains
// and Potts. Shortcuts order the lattice where each finds, on average, one other within reach: 2 d
// p tanh(1/T) chi = 1 with chi of the regular lattice, chi = a ((T - Tc)/Tc)^-gamma. All rules but
// `add` also take bonds away.
Range likely_range(const StudyConfig& config, double p);

// Temperatures of the scan, fine enough for histograms of `sites` sites to overlap.
std::vector<double> scan_temperatures(Range range, double sites);
// `plan` with these temperatures and the times of a scan, long enough for local updates.
SizePlan scan_plan(SizePlan plan, Range range, double sites);
inline constexpr std::uint32_t kScanGraphs = 4;  // of each size

// Half the width of the window of a size around `centre`; q: states.
double half_window(double centre, int dim, double p, double sites, std::uint32_t q = 2);
inline double half_window(const StudyConfig& config, double centre, double p, double sites) {
  return half_window(centre, config.dim(), p, sites, config.model.q);
}
// The temperatures of that window; `centre` is rounded to a sixteenth of it, so that a slightly
// better estimate plans the same tasks.
std::vector<double> window_temperatures(double centre, double half_width, int count = 6);

// M:W of Wolff updates where the configuration says "auto": a rule of thumb, 1:1 up to 128^2 sites,
// beyond that more Wolff updates per sweep, since Metropolis slows down as N^(1/2) and Wolff
// clusters do not grow.
Schedule automatic_schedule(double p, double sites);

// A point's schedule and cluster update, or what holds until tuning has said more.
SizePlan first_plan(const std::optional<Schedule>& schedule,
                    const std::optional<ClusterUpdate>& cluster, double p, double sites);

// From tau_int of m^2 in cycles: equilibration 12 tau, then a measurement each tau. Where graphs
// differ, 20 measurements in 32 replicas leave a thermal error of U per graph of about half the
// spread between graphs, some 0.04: what more cycles would bring, more graphs bring cheaper. At
// p = 0 all graphs are alike and only cycles count: 60 measurements.
void choose_times(const StudyConfig& config, double p, double tau, SizePlan& plan);

// Under a target_error, where the configuration leaves their number open, graphs at p > 0 begin
// with so few measurements that their noise can be told from their spread, and rounds add what the
// target needs (tc_target.hpp): a lax one needs no more.
std::uint64_t first_measurements(std::uint32_t replicas);

inline bool begins_short(const StudyConfig& config, double p) {
  return config.target_error && !config.measure && p > 0;
}

// The task of graph number `graph` under a plan.
TaskSpec plan_task(const StudyConfig& config, double p, const std::vector<std::uint32_t>& extents,
                   std::uint32_t graph, const SizePlan& plan, const std::string& purpose);

}  // namespace rewise

// From a task's integer series to numbers with errors, one set per temperature
// (analysis/README.md): means with errors by jackknife over replicas (over stretches of time where
// there are few replicas), tau_int by the Gamma method, energy = -bond sum / N.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/series/observables.hpp"
#include "analysis/series/overlaps.hpp"
#include "analysis/series/statistics.hpp"
#include "src/store/task_file.hpp"

namespace rewise {

// With fewer replicas, each is cut into stretches of time; a stretch of kLeastStretch tau_int gives
// errors about 13% too small, longer ones less. kFewestStretches tell an error within a quarter.
inline constexpr int kFewReplicas = 16;
inline constexpr double kLeastStretch = 4;
inline constexpr int kFewestStretches = 8;

// Moments of the order parameter from cluster sizes; NaN where the update does not give them. For
// Potts they are those of a vector (q = 2: of m itself):
//   m^2 = (q sum_a N_a^2 / N^2 - 1) / (q - 1),  <m^2> = <sum n_c^2> / N^2   Wolff: <C> / N
//   <m^4> = <(q + 1) (sum n_c^2)^2 - 2 sum n_c^4> / ((q - 1) N^4)           Swendsen-Wang;
//           for more than two states only where each measurement covers one update
// (spins as unit vectors with angles of equal cosine -1/(q - 1), averaged over the clusters'
// states), U = 1 - <m^4> / (3 <m^2>^2).
struct ClusterMoments {
  Value m2, m4, binder;
};

struct TemperatureResult {
  double temperature = 0;
  std::uint32_t replicas = 0;
  std::uint64_t measurements = 0;  // per replica
  std::vector<Value> observables;  // [observables()]
  // tau_int of the observables that have a series, in cycles: it times `every`, so uncorrelated
  // measurements give every/2. Error NaN: a lower bound, the series is too short.
  std::map<std::string_view, Value> tau;
  Value longest_tau;  // of e, |m| and m^2; {0, 0} where none of them ever changed
  Value cluster_fraction;
  ClusterMoments clusters;
  std::vector<Value> overlaps;  // [overlap_observables()], or none
  // Measurements in each stretch of time that the jackknife leaves out; 0: it leaves out replicas.
  // Errors are too small where a stretch is not several tau_int long.
  std::uint64_t stretch = 0;

  Value of(std::string_view name) const { return observables[observable(name)]; }
};

// What replica exchange did in a task.
struct ExchangeResult {
  std::vector<double> accepted;   // [T - 1] share of the attempts with the next temperature
  std::uint64_t round_trips = 0;  // of all configurations: first to last temperature and back
  double trips_per_1000 = 0;      // per configuration and 1000 cycles
};
// Nothing without replica exchange or measurements. Trips are seen at measurements.
std::optional<ExchangeResult> exchange_result(const TaskData& task);

// The series of one temperature, [time, replica].
IntSeries series_at(const Series<std::int64_t>& series, std::size_t temperature);
// Into memory that is used again: memory touched for the first time costs as much as what follows.
void series_at(const Series<std::int64_t>& series, std::size_t temperature, IntSeries& out);

std::vector<TemperatureResult> results_of(const TaskData& task);

// Whether errors come from stretches of less than kLeastStretch tau_int, and are too small.
bool stretches_too_short(const TemperatureResult& result, double every);

// tau_int of m^2 at one temperature, in cycles; of its magnetisations.
Value tau_of_m2(const TaskData& task, std::size_t temperature);
Value tau_of_m2(const TaskData& task, const IntSeries& magnetisations);

// Whether 64 bits surely held what the updates between two measurements added up, as far as M
// tells; where they need not have (Swendsen-Wang of 16384 x 16384 ordered sites, 256 updates) there
// are no moments.
bool cluster_sums_fit(const TaskData& task, std::size_t temperature);
ClusterMoments cluster_moments_of(const TaskData& task, std::size_t temperature);
// Overlaps of pairs of replicas at one temperature, `parts` stretches of time each; no rows where
// the task has none.
OverlapRows overlap_rows_of(const TaskData& task, std::size_t temperature, Eigen::Index parts = 1);
// Averages of the second half of the measurements less those of the second quarter, [pair, moment]:
// in equilibrium their means are 0, whatever the start (doubling windows). No rows as above, or
// with fewer than 4 measurements.
OverlapRows overlap_changes_of(const TaskData& task, std::size_t temperature);
// What differs, where q^2 or the link overlap of independent members (pairs, or graphs) changes by
// more than has the chance `level`; else "".
std::string overlap_drift(const OverlapRows& changes, double level);
// <C>/N for Wolff, sum n_c^2/N^2 for the others; NaN without clusters.
Value cluster_fraction_of(const TaskData& task, std::size_t temperature);

// Swendsen-Wang's improved estimators of m^2 and m^4 less the plain ones, [replica, 2], whose mean
// is zero in equilibrium; no rows for other updates.
Eigen::ArrayX2d improved_less_plain(const TaskData& task, std::size_t temperature);

// Drops what was measured later. A finished file may hold more than a plan asks for; what is made
// of it depends on the plan alone.
void keep_first(TaskData& task, std::uint64_t measurements);

// One graph's tasks at several temperatures each, all measured as often, as one at some of them.
TaskData at_temperatures(std::vector<TaskData> tasks, const std::vector<double>& temperatures);

// Drops the first measurements: those before equilibrium.
void drop_first(TaskData& task, std::uint64_t measurements);

// What the task's sums are divided by.
SampleUnits units_of(const TaskData& task);

// A value of the configuration, as a number; `otherwise` where the key is missing.
double configured(const TaskData& task, const std::string& key, double otherwise);

}  // namespace rewise

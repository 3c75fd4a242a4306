// Converts a task's integer series to values with errors, one set per temperature
// (analysis/README.md): means with jackknife errors over replicas (over time blocks if there
// are few replicas), tau_int by the Gamma method, energy = -bond sum / N.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/series/coupled.hpp"
#include "analysis/series/observables.hpp"
#include "analysis/series/overlaps.hpp"
#include "analysis/series/statistics.hpp"
#include "src/store/task_file.hpp"

namespace rewise {

// With fewer replicas, each is divided into time blocks. Blocks of kMinBlockTaus tau_int
// underestimate errors by about 13%, longer ones by less. kFewestBlocks determine an error to
// within a quarter.
inline constexpr int kFewReplicas = 16;
// As many, if Houdayer moves make two replicas one member of a sample.
constexpr int few_replicas(bool houdayer) { return houdayer ? 2 * kFewReplicas : kFewReplicas; }
inline constexpr double kMinBlockTaus = 4;
inline constexpr int kFewestBlocks = 8;

// Moments of the order parameter from cluster sizes; NaN if the update does not measure them. For
// Potts models, they are moments of a vector (q = 2: of m itself):
//
//   m^2 = (q sum_a N_a^2 / N^2 - 1) / (q - 1),  <m^2> = <sum n_c^2> / N^2   Wolff: <C> / N
//   <m^4> = <(q + 1) (sum n_c^2)^2 - 2 sum n_c^4> / ((q - 1) N^4)           Swendsen-Wang;
//           for q > 2 only if each measurement covers one update
//
// (spins are unit vectors whose angles have the cosine -1/(q - 1); average over the states of the
// clusters), U = 1 - <m^4> / (3 <m^2>^2).
struct ClusterMoments {
  Value m2, m4, binder;
};

struct TemperatureResult {
  double temperature = 0;
  std::uint32_t replicas = 0;
  std::uint64_t measurements = 0;  // per replica
  std::vector<Value> observables;  // [observables()]
  // tau_int, in cycles, of the observables with a series; uncorrelated measurements give every/2.
  // Error NaN: the value is a lower bound because the series is too short.
  std::map<std::string_view, Value> tau;
  Value longest_tau;  // of e, |m|, m^2, |m_s|, m_s^2 and, in a field, m, not of q^2; {0, 0} if none
                      // of them ever changed
  Value cluster_fraction;
  ClusterMoments clusters;
  std::vector<Value> overlaps;   // [overlap_observables()], or none
  std::vector<Value> staggered;  // [staggered_observables()], or none
  std::vector<Value> in_field;   // [field_observables()], or none
  // Length, in measurements, of the time blocks that the jackknife leaves out; 0: it leaves out
  // replicas. Errors are too small unless the blocks are several tau_int long.
  std::uint64_t block_length = 0;

  Value of(std::string_view name) const { return observables[observable(name)]; }
};

// The statistics of replica exchange in a task.
struct ExchangeResult {
  std::vector<double> accepted;   // [T - 1] share of the attempts with the next temperature
  std::uint64_t round_trips = 0;  // of all configurations: first to last temperature and back
  double trips_per_1000 = 0;      // per configuration and 1000 cycles
};
// Nothing without replica exchange or measurements. Positions are sampled at measurements only.
std::optional<ExchangeResult> exchange_result(const TaskData& task);

// Counts the round trips of configurations between the first and the last temperature.
class RoundTrips {
 public:
  RoundTrips(std::size_t temperatures, std::size_t replicas)
      : temperatures_(temperatures), way_(temperatures, std::vector<Way>(replicas, Way::none)) {}

  // The next time. start(t, r): index of the temperature at which the configuration started that
  // is now replica r of temperature t (the column `walker`).
  template <class Start>
  void add(const Start& start) {
    for (std::size_t r = 0; r < way_.front().size(); ++r) {
      Way& first = way_[start(0, r)][r];
      if (first == Way::back) ++trips_;
      first = Way::out;
      Way& last = way_[start(temperatures_ - 1, r)][r];
      if (last == Way::out) last = Way::back;
    }
  }

  std::uint64_t trips() const { return trips_; }

 private:
  enum class Way : std::uint8_t { none, out, back };  // none: not yet at the first temperature
  std::size_t temperatures_;
  std::vector<std::vector<Way>> way_;  // [temperature of the start][replica]
  std::uint64_t trips_ = 0;
};

inline constexpr const char* kNoRoundTrip =
    "no replica went from the lowest to the highest temperature and back; lengthen the run or add "
    "temperatures";

// Whether any site has a field, so that the sign of m matters.
bool is_in_field(const TaskData& task);

// Dependence::replicas if the task has Houdayer moves.
Dependence dependence_of(const TaskData& task);

// The series of one temperature, [time, replica].
IntSeries series_at(const Series<std::int64_t>& series, std::size_t temperature);
// Writes to an existing array: first use of new memory costs as much as the analysis.
void series_at(const Series<std::int64_t>& series, std::size_t temperature, IntSeries& out);

std::vector<TemperatureResult> results_of(const TaskData& task);

// Whether errors are too small because they come from time blocks shorter than kMinBlockTaus
// tau_int.
bool blocks_too_short(const TemperatureResult& result, double every);

// tau_int of m^2 at one temperature, in cycles; that of m_s^2, if it is measured, or in a field of
// m where it is longer, because the order parameter is the slowest observable. The second form has
// the magnetisations at hand.
Value tau_of_order(const TaskData& task, std::size_t temperature);
Value tau_of_order(const TaskData& task, std::size_t temperature, const IntSeries& magnetisations);

// tau_int of q^2, the square of the overlap, in the same way. The task needs overlaps.
Value tau_of_overlap(const TaskData& task, std::size_t temperature);

// Whether 64 bits were surely enough for the sums of all updates between two measurements,
// estimated from M. If not (such as Swendsen-Wang with 16384 x 16384 ordered sites, 256 updates),
// there are no moments.
bool cluster_sums_fit(const TaskData& task, std::size_t temperature);
ClusterMoments cluster_moments_of(const TaskData& task, std::size_t temperature);
// Overlaps of pairs of replicas at one temperature, divided into `parts` time blocks; no rows if
// the task has no overlaps. With Houdayer moves, means of the pairs of a member.
OverlapRows overlap_rows_of(const TaskData& task, std::size_t temperature, Eigen::Index parts = 1);
// Averages of the second half of the measurements minus those of the second quarter, [pair,
// moment]: in equilibrium their means are 0, whatever the start (doubling windows). No rows if the
// task has no overlaps or fewer than 4 measurements.
OverlapRows overlap_changes_of(const TaskData& task, std::size_t temperature);
// Describes the change if q^2 or the link overlap of independent members (pairs, or graphs) changes
// significantly (p-value below `level`); else "".
std::string overlap_drift(const OverlapRows& changes, double level);
// <C>/N for Wolff, sum n_c^2/N^2 for other updates; NaN without clusters.
Value cluster_fraction_of(const TaskData& task, std::size_t temperature);

// Improved minus plain estimators of m^2 and m^4 (Swendsen-Wang), [replica, 2]. The mean is zero in
// equilibrium. No rows for other updates.
Eigen::ArrayX2d improved_less_plain(const TaskData& task, std::size_t temperature);

// Drops later measurements. A finished file may hold more than a plan requests; the results must
// depend on the plan alone.
void keep_first(TaskData& task, std::uint64_t measurements);

// Joins tasks of one graph with equal numbers of measurements into one, at some of their
// temperatures.
TaskData at_temperatures(std::vector<TaskData> tasks, const std::vector<double>& temperatures);

// Drops the first measurements, before equilibrium.
void drop_first(TaskData& task, std::uint64_t measurements);

// Normalisation of the task's sums.
SampleUnits units_of(const TaskData& task);

// Returns a number of the configuration, or `otherwise` if the key is missing.
double configured(const TaskData& task, const std::string& key, double otherwise);

}  // namespace rewise

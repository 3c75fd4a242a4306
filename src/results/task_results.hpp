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
#include "src/base/constants.hpp"
#include "src/results/measured_task.hpp"

namespace rewise {

// If there are fewer than kFewReplicas replicas, the series of each is divided into time blocks.
// Errors from blocks of kMinBlockTaus tau_int are too small by about 13%, from longer blocks by
// less. An error from kFewestBlocks blocks is itself uncertain by a quarter.
inline constexpr int kFewReplicas = 16;
// Number of replicas below which their series are divided. Houdayer moves make two replicas one
// independent member of a sample.
constexpr int few_replicas(bool houdayer) { return houdayer ? 2 * kFewReplicas : kFewReplicas; }
inline constexpr double kMinBlockTaus = 4;
inline constexpr int kFewestBlocks = 8;

struct TemperatureResult {
  double temperature = 0;
  std::uint32_t replicas = 0;
  std::uint64_t measurements = 0;  // per replica
  // By names of observable_groups(): those that the run measured.
  std::map<std::string_view, Value> values;
  // tau_int, in cycles, of the observables with a series; uncorrelated measurements give every/2.
  // Error NaN: the value is a lower bound because the series is too short.
  std::map<std::string_view, Value> tau;
  // The longest of the tau_int of e, |m|, m^2, |m_s|, m_s^2 and, in a field, m (without q^2).
  // {0, 0} if all of them were constant.
  Value longest_tau;
  // Length, in measurements, of the time blocks that the jackknife leaves out; 0: it leaves out
  // replicas. Errors are too small unless the blocks are several tau_int long.
  std::uint64_t block_length = 0;

  // NaN for an observable that was not measured at this temperature.
  Value estimate(std::string_view name) const {
    const auto found = values.find(name);
    return found == values.end() ? Value{kNaN, kNaN} : found->second;
  }
};

// The statistics of replica exchange in a task.
struct ExchangeResult {
  std::vector<double> accepted;   // [T - 1] share of the attempts with the next temperature
  std::uint64_t round_trips = 0;  // of all configurations: first to last temperature and back
  double trips_per_1000 = 0;      // per configuration and 1000 cycles
};
// Returns nullopt without replica exchange or measurements. Round trips are counted from the
// temperatures of configurations at the times of measurements.
std::optional<ExchangeResult> exchange_result(const MeasuredTask& task);

// Counts the round trips of configurations between the first and the last temperature.
class RoundTrips {
 public:
  RoundTrips(std::size_t temperatures, std::size_t replicas)
      : temperatures_(temperatures), way_(temperatures, std::vector<Way>(replicas, Way::none)) {}

  // Adds the next time. start(t, r) is the column `walker`: the configuration that is now replica r
  // of temperature t started at the temperature with this index.
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

std::vector<TemperatureResult> results_of(const MeasuredTask& task);

// Whether errors are too small because they come from time blocks shorter than kMinBlockTaus
// tau_int.
bool blocks_too_short(const TemperatureResult& result, double every);

// tau_int of the order parameter at one temperature, in cycles: the longest of those of m^2, of
// m_s^2 if it is measured, and of m in a field. The second form is for callers that already have
// the magnetisations of this temperature.
Value tau_of_order(const MeasuredTask& task, std::size_t temperature);
Value tau_of_order(const MeasuredTask& task, std::size_t temperature,
                   const IntSeries& magnetisations);

// tau_int of q^2, the square of the overlap, in cycles. The task must have overlaps.
Value tau_of_overlap(const MeasuredTask& task, std::size_t temperature);

// Whether the sum of n_c^2 over all updates between two measurements certainly fits into 64 bits,
// estimated from the largest |M|. Example of sums that do not: 256 Swendsen-Wang updates of 16384 x
// 16384 ordered sites.
bool cluster_sums_fit(const MeasuredTask& task, std::size_t temperature);
// Moments of the order parameter from cluster sizes: m^2, and m^4 and U if the update measures
// them; nothing if !cluster_sums_fit(). For Potts models, they are moments of a vector (q = 2: of m
// itself):
//
//   m^2 = (q sum_a N_a^2 / N^2 - 1) / (q - 1),  <m^2> = <sum n_c^2> / N^2   Wolff: <C> / N
//   <m^4> = <(q + 1) (sum n_c^2)^2 - 2 sum n_c^4> / ((q - 1) N^4)           Swendsen-Wang;
//           for q > 2 only if each measurement covers one update
//
// and U = 1 - <m^4> / (3 <m^2>^2). Here N_a is the number of sites in state a and n_c the size of a
// cluster. The states are unit vectors in q - 1 dimensions; the angle between two of them has the
// cosine -1/(q - 1). The formulas are averages over the states of the clusters.
// Errors are jackknife errors from `parts` time blocks per replica.
std::vector<Value> cluster_moments_of(const MeasuredTask& task, std::size_t temperature,
                                      Eigen::Index parts);
// Whether the overlaps of pairs of replicas are those of Ising spins, or of two states.
bool has_overlaps(const MeasuredTask& task);
// q^2 of each pair, or of the mean of the pairs of a member, [time, member].
RealSeries squared_overlaps(const MeasuredTask& task, std::size_t temperature);
// Overlaps of pairs of replicas at one temperature, divided into `parts` time blocks; no rows if
// the task has no overlaps. With Houdayer moves, means of the pairs of a member.
OverlapRows overlap_rows_of(const MeasuredTask& task, std::size_t temperature,
                            Eigen::Index parts = 1);
// Averages of the second half of the measurements minus those of the second quarter, [pair,
// moment]: in equilibrium their means are 0, whatever the start (doubling windows). No rows if the
// task has no overlaps or fewer than 4 measurements.
OverlapRows overlap_changes_of(const MeasuredTask& task, std::size_t temperature);
// Describes the change if q^2 or the link overlap of independent members (pairs, or graphs) changes
// significantly (p-value, corrected for two comparisons, below `level`); else "".
std::string overlap_drift(const OverlapRows& changes, double level);
// <C>/N for Wolff, sum n_c^2/N^2 for other updates; NaN without clusters.
double cluster_fraction_of(const MeasuredTask& task, std::size_t temperature);

// Improved minus plain estimators of m^2 and m^4 (Swendsen-Wang), [replica, 2]. The mean is zero in
// equilibrium. No rows for other updates.
Eigen::ArrayX2d improved_less_plain(const MeasuredTask& task, std::size_t temperature);

}  // namespace rewise

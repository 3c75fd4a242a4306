// The check of equilibrium: half of the replicas of a task start at random (hot), half ordered
// (cold). In equilibrium, the means of both halves agree.
//
// For one graph at one temperature, the halves differ only in their start. The difference of their
// means over a window of time therefore has mean zero, and its variance follows from the spread of
// the replicas' means (replicas are independent; times may be correlated). Student's t tests each
// difference of e, |m| and m^2, in a field also of m, and the sums of the differences over graphs.
// All tests together have one false-alarm level.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/series/moments.hpp"
#include "analysis/series/statistics.hpp"
#include "src/results/measured_task.hpp"

namespace rewise {

// Probability that one check of a size fails in equilibrium.
inline constexpr double kEquilibriumLevel = 1e-4;

// Minimum number of tau_int before the first measurement used, if the halves agree.
inline constexpr double kMinTaus = 5;

// The same if nothing else shows equilibrium: all starts are alike, or the series is too short to
// determine tau_int, of which there is only a lower bound.
inline constexpr double kStartTaus = 10;

// The observables that are compared: e, |m|, m^2 and, in a field, m, whose sign matters there (a
// replica may stay in the phase against the field).
constexpr Eigen::Index compared_observables(bool in_field) { return in_field ? 4 : 3; }
std::string_view compared_name(Eigen::Index observable);

// The halves of one graph, [T, compared_observables()]. No rows if the task has fewer than two
// replicas of either start.
struct HotColdDifference {
  Eigen::ArrayXXd difference;  // mean of the hot replicas minus that of the cold ones
  Eigen::ArrayXXd variance;    // variance of the difference, from the spread of the replicas
  double dof = 0;              // degrees of freedom of that variance
};

// Time averages of the compared observables over the measurements [first, first + count):
// [replica, observable], or, for replicas coupled by Houdayer moves, [member, observable]
// (coupled.hpp).
Eigen::ArrayXXd replica_means(const MeasuredTask& task, const IntSeries& bond_sums,
                              const IntSeries& magnetisations, Eigen::Index first,
                              Eigen::Index count,
                              ReplicaDependence dependence = ReplicaDependence::none);

// Indices of the replicas, or members, with cold start, and of those with hot start.
std::array<std::vector<Eigen::Index>, 2> replicas_by_start(
    const MeasuredTask& task, ReplicaDependence dependence = ReplicaDependence::none);

// Minimum number of replicas of one start, or of both, for a comparison among themselves.
inline constexpr std::size_t kMinGroup = 8;

// Describes how replicas are stuck; "" if none is. Replicas are stuck if either
//
//   - the time averages of |m| or e, in a field also of m, of one start spread 10 times as far as
//     those of the other, and 3 times as far as a replica fluctuates, and `tau` is only a lower
//     bound; or
//   - the average of a replica, and its first two measurements or more than half of all, lie more
//     than 25 robust standard deviations (1.4826 times the median distance of the averages) from
//     their median, and `tau` is only a lower bound or fewer than 20 `tau` passed in the `dropped`
//     cycles. Small systems make short excursions in equilibrium; near T = 0, where almost all
//     averages are equal, an excited spin in a single measurement is as far off.
//
// The second is not tested if `made_round_trips` (round_trips_before()): at low temperatures of
// glasses, replica exchange moves configurations into and out of rare valleys, so an outlier is not
// stuck.
//
// In equilibrium, the standard deviations of 8 + 8 normal averages differ by a factor of 10 with
// probability 4e-6; that one of 32 lies 25 robust standard deviations off is far less probable.
std::string stuck_replicas(const MeasuredTask& task, const IntSeries& bond_sums,
                           const IntSeries& magnetisations, Value tau, double dropped,
                           bool made_round_trips);

// Whether, at the rate of the round trips that replica exchange made in the task, each
// configuration made one or more of them in the `dropped` cycles before the first measurement.
// False without exchange.
bool round_trips_before(const MeasuredTask& task, double dropped);

// With replica exchange, a temperature that is not in equilibrium affects others. Colder ones reach
// equilibrium only by way of it, and the next warmer one receives its spins in every cycle. Returns
// the indices of these temperatures, each with one of the `rejected` ones that affects it.
struct AffectedTemperature {
  std::size_t index = 0;
  double rejected = 0;  // temperature
};
std::vector<AffectedTemperature> affected_temperatures(std::span<const double> temperatures,
                                                       const std::vector<double>& rejected);

// The halves over the measurements [first, first + count).
HotColdDifference hot_cold_difference(const MeasuredTask& task, std::uint64_t first,
                                      std::uint64_t count);

// The halves at the temperature with index t.
HotColdDifference at_temperature(const HotColdDifference& halves, Eigen::Index t);

struct HotColdTest {
  bool agree = true;
  double worst_z = 0;  // of the least probable comparison: hot minus cold in standard errors
  std::string_view observable;       // its observable: "energy", "abs_magnetisation", ..
  int checks = 0;                    // number of comparisons; 0: none possible
  double level = kEquilibriumLevel;  // joint level of all comparisons
};

HotColdTest compare_halves(std::span<const HotColdDifference> graphs,
                           double level = kEquilibriumLevel);

}  // namespace rewise

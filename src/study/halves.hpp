// The check of equilibrium: half of the replicas of a task start hot, half cold, and where both
// have forgotten it their means agree.
//
// The two halves of one graph at one temperature share everything but their start, so the
// difference of their means over a window of time is zero in equilibrium, with a variance that the
// spread of the replicas' means tells (replicas are independent; time may be correlated). Tested
// are each such difference and their sums over graphs, by Student's t, of e, |m| and m^2, all
// together at one stated level.
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
#include "src/store/task_file.hpp"

namespace rewise {

// Chance that one check of a size in equilibrium fails.
inline constexpr double kEquilibriumLevel = 1e-4;

// tau_int that pass before the first measurement that counts, at least, where halves agree.
inline constexpr double kLeastTaus = 5;

// What a graph tells about its halves, per temperature and observable (e, |m|, m^2): [T, 3]. No
// rows where the task has not two replicas of each start.
struct Halves {
  Eigen::ArrayXXd difference;  // mean of the hot replicas less that of the cold ones
  Eigen::ArrayXXd variance;    // of the difference, from the spread of the replicas
  double dof = 0;              // of that variance
};

// Time averages of e, |m| and m^2 over the measurements [first, first + count): [replica, 3].
Eigen::ArrayX3d replica_means(const IntSeries& bond_sums, const IntSeries& magnetisations,
                              const SampleUnits& units, Eigen::Index first, Eigen::Index count);

// Numbers of the replicas that started cold, and of those that started hot.
std::array<std::vector<Eigen::Index>, 2> replicas_by_start(const TaskData& data);

// Replicas of a start, or of both, that are compared among themselves, at least.
inline constexpr std::size_t kLeastGroup = 8;

// What shows that some replicas are stuck, "" where nothing does. Either
//   - time averages of |m| or e of one start spread 10 times as far as those of the other, and 3
//     times as far as a replica fluctuates, while `tau` is only a lower bound; or
//   - those of some replica lie more than 25 robust standard deviations (1.4826 times the median
//     distance) from the median of all, while `tau` is only a lower bound, or fewer than 20 of it
//     passed in the `dropped` cycles. Short excursions, which a small system makes in equilibrium,
//     have a `tau` that is known, and short.
// Standard deviations of 8 + 8 normal averages differ by a factor of 10 with a chance of 4e-6; one
// of 32 normal averages lies 25 robust ones off with a chance far below that.
std::string stuck_replicas(const std::array<std::vector<Eigen::Index>, 2>& of_start,
                           const IntSeries& bond_sums, const IntSeries& magnetisations,
                           const SampleUnits& units, Value tau, double dropped);

// Of the measurements [first, first + count).
Halves halves_of(const TaskData& data, std::uint64_t first, std::uint64_t count);

// Those of one temperature alone.
Halves at_temperature(const Halves& halves, Eigen::Index t);

struct HotCold {
  bool agree = true;
  double worst_z = 0;           // hot minus cold over its error, of the least likely comparison
  std::string_view observable;  // of it: "energy", "abs_magnetisation", "m2"
  int checks = 0;               // comparisons; 0: nothing could be compared
  double level = kEquilibriumLevel;  // of all of them together
};

HotCold compare_halves(std::span<const Halves> graphs, double level = kEquilibriumLevel);

}  // namespace rewise

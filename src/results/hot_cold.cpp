#include "src/results/hot_cold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/series/autocorrelation.hpp"
#include "analysis/series/coupled.hpp"
#include "analysis/series/distributions.hpp"
#include "src/results/task_results.hpp"

namespace rewise {
namespace {

// Limits of stuck_replicas(). Replicas of one start are stuck if the standard deviation of their
// averages exceeds kFrozenSpread times that of the other start, and kFrozenWithin times the
// standard deviation in time of one replica.
constexpr double kFrozenSpread = 10, kFrozenWithin = 3;
// Fewer measurements than kFewTimes do not determine tau_int. Deviations of |m| count as stuck only
// above kMacroscopic then.
constexpr Eigen::Index kFewTimes = 5;
constexpr double kMacroscopic = 0.05;
// A single replica is stuck if its average lies more than kFarOff robust standard deviations from
// the median, unless at least kFarTaus tau_int passed before the first measurement.
constexpr double kFarOff = 25, kFarTaus = 20;

constexpr Eigen::Index kEnergyOf = 0, kAbsM = 1, kM = 3;  // compared observables

// Steps of the time averages of e, |m|, m^2 and m over `times` measurements: one spin flip in one
// of them changes the sums of bonds and of spins by about 2.
Eigen::Array4d steps_of(const SampleUnits& units, double abs_m, double times) {
  const double m_step = 2 / units.max_magnetisation;
  return Eigen::Array4d(2 / units.sites, m_step, 2 * abs_m * m_step, m_step) / times;
}

}  // namespace

std::string_view compared_name(Eigen::Index observable) {
  static constexpr std::string_view names[] = {"energy", "abs_magnetisation", "m2",
                                               "magnetisation"};
  return names[observable];
}

Eigen::ArrayXXd replica_means(const MeasuredTask& task, const IntSeries& bond_sums,
                              const IntSeries& magnetisations, Eigen::Index first,
                              Eigen::Index count, ReplicaDependence dependence) {
  Eigen::ArrayXXd means(bond_sums.cols(), compared_observables(task.in_field));
  for (Eigen::Index r = 0; r < bond_sums.cols(); ++r) {
    Eigen::ArrayXd e, m;
    task.units.per_site(bond_sums.col(r).segment(first, count).cast<double>(),
                        magnetisations.col(r).segment(first, count).cast<double>(), e, m);
    means.row(r).head(3) << e.mean(), m.abs().mean(), m.square().mean();
    if (task.in_field) means(r, 3) = m.mean();
  }
  return member_rows(means, dependence);
}

std::array<std::vector<Eigen::Index>, 2> replicas_by_start(const MeasuredTask& task,
                                                           ReplicaDependence dependence) {
  std::array<std::vector<Eigen::Index>, 2> by_start;
  const Eigen::Index members =
      members_of(dependence, static_cast<Eigen::Index>(task.data.replicas));
  for (Eigen::Index r = 0; r < members; ++r) {  // members alternate as replicas do
    by_start[starts_hot(task.spec.start, static_cast<std::uint32_t>(r))].push_back(r);
  }
  return by_start;
}

std::string stuck_replicas(const MeasuredTask& task, const IntSeries& bond_sums,
                           const IntSeries& magnetisations, Value tau, double dropped,
                           bool made_round_trips) {
  const bool known = std::isfinite(tau.error);
  if (known && dropped >= kFarTaus * tau.value) return "";
  const Eigen::Index times = bond_sums.rows(), replicas = bond_sums.cols();
  if (replicas < static_cast<Eigen::Index>(kMinGroup) || times < 1) return "";
  const auto by_start = replicas_by_start(task);
  const Eigen::ArrayXXd means = replica_means(task, bond_sums, magnetisations, 0, times);
  const double min_deviation = times < kFewTimes ? kMacroscopic : 0;
  const bool both = by_start[0].size() >= kMinGroup && by_start[1].size() >= kMinGroup;
  const auto spreads_apart = [&](Eigen::Index o) {
    RealSeries series, m;
    task.units.per_site(bond_sums.cast<double>(), magnetisations.cast<double>(), series, m);
    if (o != kEnergyOf) series = o == kAbsM ? RealSeries(m.abs()) : m;
    double spread[2];
    for (const std::size_t hot : {0, 1}) {
      std::vector<double> values;
      for (const Eigen::Index r : by_start[hot]) values.push_back(means(r, o));
      spread[hot] = mean_and_error(values).error * std::sqrt(static_cast<double>(values.size()));
    }
    const double within = std::sqrt((series.rowwise() - means.col(o).transpose()).square().mean());
    const double large = std::max(spread[0], spread[1]), small = std::min(spread[0], spread[1]);
    return large > std::max(kFrozenSpread * small, std::max(kFrozenWithin * within, min_deviation));
  };
  const auto far_off = [&](Eigen::Index o) {
    const std::vector<double> values(means.col(o).begin(), means.col(o).end());
    const double middle = median(values);
    std::vector<double> distances;
    for (const double v : values) distances.push_back(std::abs(v - middle));
    constexpr double normal = 1.4826, rounding = 1e-12;
    const double limit = std::max({kFarOff * normal * median(distances), min_deviation, rounding});
    const auto stays_off = [&](Eigen::Index r) {
      if (!(distances[static_cast<std::size_t>(r)] > limit)) return false;
      Eigen::ArrayXd e, m;
      task.units.per_site(bond_sums.col(r).cast<double>(), magnetisations.col(r).cast<double>(), e,
                          m);
      const Eigen::Array<bool, Eigen::Dynamic, 1> off = ((o == kEnergyOf ? e
                                                          : o == kAbsM   ? Eigen::ArrayXd(m.abs())
                                                                         : m) -
                                                         middle)
                                                            .abs() > limit;
      const bool from_the_start = times > 1 && off(0) && off(1);
      return from_the_start || 2 * off.count() > times;
    };
    Eigen::Index count = 0;
    for (Eigen::Index r = 0; r < replicas; ++r) count += stays_off(r) ? 1 : 0;
    return count;
  };
  for (const Eigen::Index o : {kAbsM, kEnergyOf, kM}) {
    if (o >= means.cols() || (o == kEnergyOf && times < kFewTimes)) continue;
    const std::string_view symbol = o == kEnergyOf ? "e" : o == kAbsM ? "|m|" : "m";
    if (both && !known && spreads_apart(o)) {
      return fmt::format(
          "the spread of {} over the replicas of one start is more than {:.0f} times that of the "
          "other start",
          symbol, kFrozenSpread);
    }
    if (const auto count = made_round_trips ? 0 : far_off(o); count > 0) {
      return fmt::format(
          "{} of {} of {} replicas is more than {:.0f} standard deviations from the median", symbol,
          count, replicas, kFarOff);
    }
  }
  return "";
}

bool round_trips_before(const MeasuredTask& task, double dropped) {
  const auto exchange = exchange_result(task);
  return exchange && exchange->trips_per_1000 * dropped >= 1000;
}

std::vector<AffectedTemperature> affected_temperatures(std::span<const double> temperatures,
                                                       const std::vector<double>& rejected) {
  std::vector<AffectedTemperature> beside;
  if (rejected.empty()) return beside;
  const double warmest = std::ranges::max(rejected);
  double next = std::numeric_limits<double>::infinity();
  for (const double t : temperatures) {
    if (t > warmest) next = std::min(next, t);
  }
  for (std::size_t k = 0; k < temperatures.size(); ++k) {
    const double t = temperatures[k];
    if (t <= next && std::ranges::find(rejected, t) == rejected.end())
      beside.push_back({k, warmest});
  }
  return beside;
}

HotColdDifference hot_cold_difference(const MeasuredTask& task, std::uint64_t first,
                                      std::uint64_t count) {
  const auto begin = static_cast<Eigen::Index>(first), length = static_cast<Eigen::Index>(count);
  const auto by_start = replicas_by_start(task, task.dependence);
  HotColdDifference halves;
  if (by_start[0].size() < 2 || by_start[1].size() < 2 || count == 0) return halves;
  halves.dof = static_cast<double>(by_start[0].size() + by_start[1].size() - 2);
  const auto temperatures = static_cast<Eigen::Index>(task.data.temperature.size());
  const Eigen::Index compared = compared_observables(task.in_field);
  halves.difference.resize(temperatures, compared);
  halves.variance.resize(temperatures, compared);
  IntSeries bond_sums, magnetisations;
  for (Eigen::Index t = 0; t < temperatures; ++t) {
    const auto at = static_cast<std::size_t>(t);
    series_at(task.data.bond_sum, at, bond_sums);
    series_at(task.data.magnetisation, at, magnetisations);
    const Eigen::ArrayXXd means =
        replica_means(task, bond_sums, magnetisations, begin, length, task.dependence);
    const Eigen::Array4d steps =
        steps_of(task.units, means.col(1).mean(), static_cast<double>(count));
    for (Eigen::Index o = 0; o < compared; ++o) {
      Value mean[2];
      for (const std::size_t hot : {0, 1}) {
        std::vector<double> values;
        for (const Eigen::Index r : by_start[hot]) values.push_back(means(r, o));
        mean[hot] = mean_and_error(values);
      }
      halves.difference(t, o) = mean[1].value - mean[0].value;
      // The averages of a few replicas may be equal by chance, because they are multiples of a
      // step. Their spread is then 0 though the variance is not: add that of rounding, step^2/12.
      halves.variance(t, o) = mean[0].error * mean[0].error + mean[1].error * mean[1].error +
                              steps(o) * steps(o) / 12 *
                                  (1 / static_cast<double>(by_start[0].size()) +
                                   1 / static_cast<double>(by_start[1].size()));
    }
  }
  return halves;
}

HotColdDifference at_temperature(const HotColdDifference& halves, Eigen::Index t) {
  if (halves.difference.rows() == 0) return {};
  return {halves.difference.row(t), halves.variance.row(t), halves.dof};
}

HotColdTest compare_halves(std::span<const HotColdDifference> graphs, double level) {
  HotColdTest result;
  result.level = level;
  double smallest = 1;                          // p-value so far
  double largest_z = -1, dof_of_largest_z = 0;  // |z| and dof of the last p-value computed
  const auto compare = [&](double difference, double variance, double dof, Eigen::Index o) {
    ++result.checks;
    const double z = variance > 0 ? difference / std::sqrt(variance) : difference == 0 ? 0 : 1e9;
    // A smaller |z| at the same dof has a larger p-value, which costs microseconds to compute.
    if (dof == dof_of_largest_z && std::abs(z) <= largest_z) return;
    largest_z = std::abs(z);
    dof_of_largest_z = dof;
    const double chance = student_two_sided(z, dof);
    if (chance > smallest || (chance == smallest && std::abs(z) <= std::abs(result.worst_z)))
      return;
    smallest = chance;
    result.worst_z = z;
    result.observable = compared_name(o);
  };
  Eigen::ArrayXXd difference, variance;
  double dof = 0;
  for (const HotColdDifference& graph : graphs) {
    if (graph.difference.rows() == 0) continue;
    if (dof == 0) {
      difference = variance =
          Eigen::ArrayXXd::Zero(graph.difference.rows(), graph.difference.cols());
    }
    difference += graph.difference;
    variance += graph.variance;
    dof += graph.dof;
    for (Eigen::Index t = 0; t < graph.difference.rows(); ++t) {
      for (Eigen::Index o = 0; o < graph.difference.cols(); ++o) {
        compare(graph.difference(t, o), graph.variance(t, o), graph.dof, o);
      }
    }
  }
  if (graphs.size() > 1) {
    for (Eigen::Index t = 0; t < difference.rows(); ++t) {
      for (Eigen::Index o = 0; o < difference.cols(); ++o) {
        compare(difference(t, o), variance(t, o), dof, o);
      }
    }
  }
  // Bonferroni correction. The comparisons are correlated, so the probability of a false alarm is
  // at most `level`.
  result.agree = result.checks == 0 || smallest * result.checks >= level;
  return result;
}

}  // namespace rewise

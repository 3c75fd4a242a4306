#include "src/results/task_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "analysis/series/autocorrelation.hpp"
#include "analysis/series/jackknife.hpp"
#include "src/base/constants.hpp"
#include "src/results/observable_groups.hpp"

namespace rewise {
namespace {

// A series shorter than this many tau_int gives only a lower bound of tau_int.
constexpr double kKnownTaus = 10;

Value tau_of(RealSeries series, double every) {
  const Eigen::Index times = series.rows();
  if (times < 2) return {kNaN, kNaN};
  const GammaResult found = gamma_method(std::move(series));
  const Value tau = found.tau;
  const bool known = found.window_found && tau.error > 0 &&  // 0: constant series
                     static_cast<double>(times) >= kKnownTaus * std::max(tau.value, 0.5);
  return {tau.value * every, known ? tau.error * every : kNaN};
}

// Number of blocks that each replica is divided into: about 2 kFewReplicas in all, or fewer that
// are kMinBlockTaus tau_int long, but at least kFewestBlocks in all. `tau` in measurements.
Eigen::Index block_count(Eigen::Index replicas, Eigen::Index times, double tau) {
  if (replicas >= kFewReplicas || times < 1) return 1;
  const auto per_replica = [&](Eigen::Index all) {
    return std::clamp<Eigen::Index>((all + replicas - 1) / replicas, 1, times);
  };
  const Eigen::Index most = std::clamp<Eigen::Index>(2 * kFewReplicas / replicas, 1, times);
  const Eigen::Index fewest = std::min(per_replica(kFewestBlocks), most);
  const double fitting = static_cast<double>(times) / (kMinBlockTaus * std::max(tau, 0.5));
  const Eigen::Index wanted = fitting < static_cast<double>(most)
                                  ? std::max(fewest, static_cast<Eigen::Index>(std::floor(fitting)))
                                  : most;
  return times / (times / wanted);
}

// The error is unknown if all measurements are equal.
Value unknown_error_if_constant(Value v) {
  constexpr double rounding = 1e-13;
  return {v.value, v.error > rounding * std::abs(v.value) ? v.error : kNaN};
}

// The longer of two tau_int; a lower bound if either is one.
Value longer(Value a, Value b) {
  const bool known = std::isfinite(a.error) && std::isfinite(b.error);
  const Value& longest = a.value > b.value || !std::isfinite(b.value) ? a : b;
  return {longest.value, known ? longest.error : kNaN};
}

TemperatureResult result_at(const MeasuredTask& task, std::size_t k) {
  TemperatureResult result;
  result.temperature = task.data.temperature[k];
  result.replicas = task.data.replicas;
  result.measurements = task.data.bond_sum.time();
  result.longest_tau = {0, 0};
  for (const ObservableGroup& group : observable_groups()) {
    if (!group.is_measured(task)) continue;
    for (TauSeries& one : group.series(task, k)) {
      const Value tau = tau_of(std::move(one.members), task.every);
      result.tau[one.observable] = tau;
      if (one.decides_blocks) result.longest_tau = longer(result.longest_tau, tau);
    }
  }
  const auto times = static_cast<Eigen::Index>(result.measurements);
  const Eigen::Index parts = block_count(
      members_of(task.dependence, static_cast<Eigen::Index>(task.data.bond_sum.replicas())), times,
      result.longest_tau.value / task.every);
  if (parts > 1) result.block_length = static_cast<std::uint64_t>(times / parts);
  for (const ObservableGroup& group : observable_groups()) {
    if (!group.is_measured(task)) continue;
    const std::vector<Value> values = group.values(task, k, parts);
    for (std::size_t o = 0; o < values.size(); ++o) {
      result.values[group.observables[o].name] = unknown_error_if_constant(values[o]);
    }
  }
  return result;
}

}  // namespace

std::optional<ExchangeResult> exchange_result(const MeasuredTask& task) {
  const auto& walkers = task.data.walker;
  if (walkers.empty() || walkers.time() == 0) return std::nullopt;
  const std::size_t temperatures = walkers.temperatures(), replicas = walkers.replicas();
  ExchangeResult result;
  for (std::size_t t = 0; t + 1 < temperatures; ++t) {
    std::uint64_t attempts = 0, accepted = 0;
    for (std::size_t time = 0; time < walkers.time(); ++time) {
      attempts += task.data.exchange_attempts.at(t, time, 0);
      accepted += task.data.exchanges.at(t, time, 0);
    }
    result.accepted.push_back(
        attempts == 0 ? kNaN : static_cast<double>(accepted) / static_cast<double>(attempts));
  }
  RoundTrips trips(temperatures, replicas);
  for (std::size_t time = 0; time < walkers.time(); ++time) {
    trips.add([&](std::size_t t, std::size_t r) { return walkers.at(t, time, r); });
  }
  result.round_trips = trips.trips();
  const double cycles = task.every * static_cast<double>(walkers.time());
  result.trips_per_1000 = 1000 * static_cast<double>(result.round_trips) / cycles /
                          static_cast<double>(temperatures * replicas);
  return result;
}

std::vector<TemperatureResult> results_of(const MeasuredTask& task) {
  std::vector<TemperatureResult> results;
  for (std::size_t k = 0; k < task.data.temperature.size(); ++k)
    results.push_back(result_at(task, k));
  return results;
}

Value tau_of_order(const MeasuredTask& task, std::size_t temperature) {
  return tau_of_order(task, temperature, series_at(task.data.magnetisation, temperature));
}

Value tau_of_order(const MeasuredTask& task, std::size_t temperature,
                   const IntSeries& magnetisations) {
  const auto per_site = [&](const IntSeries& sums) -> RealSeries {
    return sums.cast<double>() / task.units.max_magnetisation;
  };
  const auto tau_of_members = [&](const RealSeries& series) {
    return tau_of(member_columns(series, task.dependence), task.every);
  };
  Value slowest = tau_of_members(per_site(magnetisations).square());
  const auto compare = [&](const RealSeries& series) {
    const Value other = tau_of_members(series);
    if (other.value > slowest.value || !std::isfinite(slowest.value)) slowest = other;
  };
  if (task.in_field) compare(per_site(magnetisations));
  if (!task.data.staggered.empty()) {
    compare(per_site(series_at(task.data.staggered, temperature)).square());
  }
  return slowest;
}

RealSeries squared_overlaps(const MeasuredTask& task, std::size_t temperature) {
  const RealSeries q2 =
      (series_at(task.data.overlap, temperature).cast<double>() / task.sites).square();
  return member_columns(q2, task.pair_dependence);
}

Value tau_of_overlap(const MeasuredTask& task, std::size_t temperature) {
  return tau_of(squared_overlaps(task, temperature), task.every);
}

namespace {

// Improved estimators of m^2 and, if available, m^4, averaged over time in `parts` blocks per
// replica. [replica * parts, 1 or 2].
Eigen::ArrayXXd cluster_rows(const MeasuredTask& task, std::size_t temperature, std::size_t parts) {
  const auto& sizes = task.data.cluster_size;
  const double updates = task.spec.schedule.cluster * task.every, sites = task.sites;
  const bool wolff = task.spec.cluster == ClusterUpdate::wolff;
  const double square = updates * sites * (wolff ? 1.0 : sites);
  // The series holds the fourth moment for q = 2. The square of a single update's sum converts it
  // to any q.
  const double q = task.spec.model.q;
  const bool fourth = !task.data.cluster_quartic_low.empty() && (q == 2 || updates == 1);
  const std::size_t length = sizes.time() / parts;
  Eigen::ArrayXXd rows =
      Eigen::ArrayXXd::Zero(static_cast<Eigen::Index>(sizes.replicas() * parts), fourth ? 2 : 1);
  for (Eigen::Index row = 0; row < rows.rows(); ++row) {
    const std::size_t r = static_cast<std::size_t>(row) / parts;
    const std::size_t begin =
        sizes.time() - (parts - static_cast<std::size_t>(row) % parts) * length;
    for (std::size_t t = begin; t < begin + length; ++t) {
      const auto size = static_cast<double>(sizes.at(temperature, t, r));
      rows(row, 0) += size / square;
      if (!fourth) continue;
      const double two =
          std::ldexp(static_cast<double>(task.data.cluster_quartic_high.at(temperature, t, r)),
                     64) +
          static_cast<double>(task.data.cluster_quartic_low.at(temperature, t, r));
      rows(row, 1) += (two + (q - 2) * size * size) / (updates * (q - 1) * std::pow(sites, 4));
    }
  }
  return rows / static_cast<double>(length);
}

}  // namespace

std::vector<Value> cluster_moments_of(const MeasuredTask& task, std::size_t temperature,
                                      Eigen::Index parts) {
  if (task.data.cluster_size.empty() || !cluster_sums_fit(task, temperature)) return {};
  const Eigen::ArrayXXd rows = cluster_rows(task, temperature, static_cast<std::size_t>(parts));
  const VectorFunction all = [](const Eigen::VectorXd& mean) {
    Eigen::VectorXd result = mean;
    if (mean.size() < 2) return result;
    result.conservativeResize(3);
    result[2] = 1 - mean[1] / (3 * mean[0] * mean[0]);
    return result;
  };
  const Estimates found = jackknife(rows, all);
  std::vector<Value> moments;
  for (Eigen::Index k = 0; k < found.value.size(); ++k) moments.push_back(found[k]);
  return moments;
}

bool has_overlaps(const MeasuredTask& task) {
  // With three or more states, the column is the number of equal sites minus that of unequal ones,
  // whose mean is not 0 in the disordered phase.
  return task.data.overlap.replicas() > 0 && !task.data.overlap.empty() && task.spec.model.q == 2;
}

OverlapRows overlap_rows_of(const MeasuredTask& task, std::size_t temperature, Eigen::Index parts) {
  if (!has_overlaps(task)) return {};
  const OverlapRows rows = overlap_rows(series_at(task.data.overlap, temperature),
                                        series_at(task.data.link_overlap, temperature), task.sites,
                                        static_cast<double>(task.data.graph.bonds), parts);
  return member_rows(rows, task.pair_dependence, parts);
}

OverlapRows overlap_changes_of(const MeasuredTask& task, std::size_t temperature) {
  constexpr Eigen::Index quarters = 4;
  if (task.data.overlap.time() < quarters) return {};
  const OverlapRows rows = overlap_rows_of(task, temperature, quarters);
  OverlapRows changes(rows.rows() / quarters, static_cast<Eigen::Index>(kOverlapMomentCount));
  for (Eigen::Index pair = 0; pair < changes.rows(); ++pair) {
    const Eigen::Index at = pair * quarters;
    changes.row(pair) = (rows.row(at + 2) + rows.row(at + 3)) / 2 - rows.row(at + 1);
  }
  return changes;
}

std::string overlap_drift(const OverlapRows& changes, double level) {
  if (changes.rows() < 2) return "";
  constexpr std::pair<OverlapMoment, const char*> compared[] = {{kOverlap2, "q^2"},
                                                                {kLinkOverlap, "the link overlap"}};
  for (const auto& [moment, name] : compared) {
    const Eigen::ArrayXd values = changes.col(moment);
    const Agreement found =
        compare_to_zero(std::span(values.data(), static_cast<std::size_t>(values.size())), 0);
    if (found.p_value * std::size(compared) >= level) continue;
    return fmt::format(
        "{} differs by {:.1f} standard errors between the second quarter and the second half of "
        "the measurements",
        name, std::abs(found.z));
  }
  return "";
}

bool cluster_sums_fit(const MeasuredTask& task, std::size_t temperature) {
  if (task.data.cluster_size.empty() || task.spec.cluster == ClusterUpdate::wolff) return true;
  const double updates = task.spec.schedule.cluster * task.every;
  const double most = updates * task.sites * task.sites, room = std::ldexp(1.0, 64);
  if (most < room) return true;
  const IntSeries sums = series_at(task.data.magnetisation, temperature);
  const double m = static_cast<double>(sums.abs().maxCoeff()) / task.units.max_magnetisation;
  constexpr double margin = 16;  // the mean sum of squares of an update is M^2
  return (most <= room && m < 1) || margin * most * m * m < room;
}

bool blocks_too_short(const TemperatureResult& result, double every) {
  if (result.block_length == 0 || result.longest_tau.value == 0) return false;
  return !std::isfinite(result.longest_tau.error) ||
         static_cast<double>(result.block_length) * every <
             kMinBlockTaus * result.longest_tau.value;
}

Eigen::ArrayX2d improved_less_plain(const MeasuredTask& task, std::size_t temperature) {
  if (task.data.cluster_quartic_low.empty() || !cluster_sums_fit(task, temperature)) return {};
  const Eigen::ArrayXXd improved = cluster_rows(task, temperature, 1);
  if (improved.cols() < 2) return {};
  const Eigen::ArrayXXd m2 = (series_at(task.data.magnetisation, temperature).cast<double>() /
                              task.units.max_magnetisation)
                                 .square();
  Eigen::ArrayX2d difference(improved.rows(), 2);
  difference.col(0) = improved.col(0) - m2.colwise().mean().transpose();
  difference.col(1) = improved.col(1) - m2.square().colwise().mean().transpose();
  return difference;
}

double cluster_fraction_of(const MeasuredTask& task, std::size_t temperature) {
  const auto& sizes = task.data.cluster_size;
  const std::vector<Value> moments =
      cluster_moments_of(task, temperature,
                         block_count(static_cast<Eigen::Index>(sizes.replicas()),
                                     static_cast<Eigen::Index>(sizes.time()), 0));
  return moments.empty() ? kNaN : moments.front().value;
}

}  // namespace rewise

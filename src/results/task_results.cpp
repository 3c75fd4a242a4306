#include "src/results/task_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "analysis/series/autocorrelation.hpp"
#include "analysis/series/jackknife.hpp"
#include "src/base/constants.hpp"
#include "src/engine/engine.hpp"
#include "src/settings/task_spec.hpp"

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
Value unless_alike(Value v) {
  constexpr double rounding = 1e-13;
  return {v.value, v.error > rounding * std::abs(v.value) ? v.error : kNaN};
}

// The longer of two tau_int; a lower bound if either is one.
Value longer(Value a, Value b) {
  const bool known = std::isfinite(a.error) && std::isfinite(b.error);
  const Value& longest = a.value > b.value || !std::isfinite(b.value) ? a : b;
  return {longest.value, known ? longest.error : kNaN};
}

ClusterMoments cluster_moments_in(const TaskData& task, std::size_t temperature, std::size_t parts);

// Observables of the energies and magnetisations of one temperature; `parts` blocks per replica.
std::vector<Value> observables_at(const IntSeries& bond_sums, const IntSeries& magnetisations,
                                  const SampleUnits& units, Eigen::Index parts,
                                  ReplicaDependence dependence, double sites, double temperature,
                                  std::span<const Observable> which) {
  const auto rows = block_moments(bond_sums, magnetisations, units, parts, dependence);
  std::vector<Value> values = observables_of_graph(rows, sites, temperature, which);
  // Variances: use the whole series. Adjacent time blocks are correlated, replicas are not.
  const Moments whole = parts > 1
                            ? mean_moments(bond_sums, magnetisations, units, nullptr, dependence)
                            : Moments(Moments::Zero());
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (parts > 1 && which[i].is_variance) values[i].value = which[i].of(whole, sites, temperature);
    values[i] = unless_alike(values[i]);
  }
  return values;
}

TemperatureResult result_at(const TaskData& task, std::size_t k) {
  const IntSeries bond_sums = series_at(task.bond_sum, k);
  const IntSeries magnetisations = series_at(task.magnetisation, k);
  const auto sites = static_cast<double>(task.graph.sites);
  const double every = configured(task, "sampling.every", 1);

  TemperatureResult result;
  result.temperature = task.temperature[k];
  result.replicas = task.replicas;
  result.measurements = task.bond_sum.time();
  const SampleUnits units = units_of(task);
  RealSeries e, m;
  units.per_site(bond_sums.cast<double>(), magnetisations.cast<double>(), e, m);
  const RealSeries abs_m = m.abs(), m2 = abs_m.square();
  const ReplicaDependence dependence = dependence_of(task);
  const auto tau = [&](const RealSeries& series) {
    return tau_of(member_columns(series, dependence), every);
  };
  result.tau = {{"energy", tau(e)},
                {"abs_magnetisation", tau(abs_m)},
                {"m2", tau(m2)},
                {"m4", tau(m2.square())}};
  result.longest_tau = {0, 0};
  if (bond_sums.minCoeff() < bond_sums.maxCoeff()) result.longest_tau = result.tau.at("energy");
  if (abs_m.minCoeff() < abs_m.maxCoeff()) {
    for (const char* name : {"abs_magnetisation", "m2"}) {
      result.longest_tau = longer(result.longest_tau, result.tau.at(name));
    }
  }
  const bool in_field = is_in_field(task);
  if (in_field) {
    result.tau["magnetisation"] = tau(m);
    if (m.minCoeff() < m.maxCoeff()) {
      result.longest_tau = longer(result.longest_tau, result.tau.at("magnetisation"));
    }
  }
  IntSeries staggered;
  if (!task.staggered.empty()) {
    series_at(task.staggered, k, staggered);
    const RealSeries abs_s = staggered.cast<double>().abs() / units.max_magnetisation,
                     s2 = abs_s.square();
    result.tau["abs_staggered"] = tau(abs_s);
    result.tau["staggered_m2"] = tau(s2);
    result.tau["staggered_m4"] = tau(s2.square());
    if (abs_s.minCoeff() < abs_s.maxCoeff()) {
      for (const char* name : {"abs_staggered", "staggered_m2"}) {
        result.longest_tau = longer(result.longest_tau, result.tau.at(name));
      }
    }
  }
  const Eigen::Index parts = block_count(members_of(dependence, bond_sums.cols()), bond_sums.rows(),
                                         result.longest_tau.value / every);
  if (parts > 1) result.block_length = static_cast<std::uint64_t>(bond_sums.rows() / parts);
  result.observables = observables_at(bond_sums, magnetisations, units, parts, dependence, sites,
                                      result.temperature, observables());
  if (staggered.size() > 0) {
    result.staggered = observables_at(bond_sums, staggered, units, parts, dependence, sites,
                                      result.temperature, staggered_observables());
  }
  if (in_field) {
    result.in_field = observables_at(bond_sums, magnetisations, units, parts, dependence, sites,
                                     result.temperature, field_observables());
  }
  result.clusters = cluster_moments_in(task, k, static_cast<std::size_t>(parts));
  for (Value* v : {&result.clusters.m2, &result.clusters.m4, &result.clusters.binder}) {
    *v = unless_alike(*v);
  }
  result.cluster_fraction = result.clusters.m2;
  if (const OverlapRows overlaps = overlap_rows_of(task, k, parts); overlaps.rows() > 0) {
    result.tau["overlap_m2"] = tau_of_overlap(task, k);
    result.overlaps = overlap_values(overlaps, sites);
    for (Value& v : result.overlaps) v = unless_alike(v);
  }
  return result;
}

}  // namespace

bool is_in_field(const TaskData& task) {
  return model_of(task.configuration).interactions.has_field() ||
         std::ranges::any_of(task.graph.field, [](double h) { return h != 0; });
}

ReplicaDependence dependence_of(const TaskData& task) {
  return task.configuration.contains("sampling.houdayer") ? ReplicaDependence::replicas
                                                          : ReplicaDependence::none;
}

IntSeries series_at(const Series<std::int64_t>& series, std::size_t temperature) {
  IntSeries out;
  series_at(series, temperature, out);
  return out;
}

void series_at(const Series<std::int64_t>& series, std::size_t temperature, IntSeries& out) {
  const std::size_t replicas = series.replicas();
  out.resize(static_cast<Eigen::Index>(series.time()), static_cast<Eigen::Index>(replicas));
  series.values().visit([&](const auto& values) {
    const std::size_t row = series.temperatures() * replicas;
    for (std::size_t t = 0; t < series.time(); ++t) {
      const auto from = values.subspan(t * row + temperature * replicas, replicas);
      std::copy(from.begin(), from.end(), out.data() + t * replicas);
    }
  });
}

std::optional<ExchangeResult> exchange_result(const TaskData& task) {
  const auto& walkers = task.walker;
  if (walkers.empty() || walkers.time() == 0) return std::nullopt;
  const std::size_t temperatures = walkers.temperatures(), replicas = walkers.replicas();
  ExchangeResult result;
  for (std::size_t t = 0; t + 1 < temperatures; ++t) {
    std::uint64_t attempts = 0, accepted = 0;
    for (std::size_t time = 0; time < walkers.time(); ++time) {
      attempts += task.exchange_attempts.at(t, time, 0);
      accepted += task.exchanges.at(t, time, 0);
    }
    result.accepted.push_back(
        attempts == 0 ? kNaN : static_cast<double>(accepted) / static_cast<double>(attempts));
  }
  RoundTrips trips(temperatures, replicas);
  for (std::size_t time = 0; time < walkers.time(); ++time) {
    trips.add([&](std::size_t t, std::size_t r) { return walkers.at(t, time, r); });
  }
  result.round_trips = trips.trips();
  const double cycles = configured(task, "sampling.every", 1) * static_cast<double>(walkers.time());
  result.trips_per_1000 = 1000 * static_cast<double>(result.round_trips) / cycles /
                          static_cast<double>(temperatures * replicas);
  return result;
}

std::vector<TemperatureResult> results_of(const TaskData& task) {
  std::vector<TemperatureResult> results;
  for (std::size_t k = 0; k < task.temperature.size(); ++k) results.push_back(result_at(task, k));
  return results;
}

Value tau_of_order(const TaskData& task, std::size_t temperature) {
  return tau_of_order(task, temperature, series_at(task.magnetisation, temperature));
}

Value tau_of_order(const TaskData& task, std::size_t temperature, const IntSeries& magnetisations) {
  const double order = units_of(task).max_magnetisation,
               every = configured(task, "sampling.every", 1);
  const auto per_site = [&](const IntSeries& sums) -> RealSeries {
    return sums.cast<double>() / order;
  };
  const auto tau_of_members = [&](const RealSeries& series) {
    return tau_of(member_columns(series, dependence_of(task)), every);
  };
  Value slowest = tau_of_members(per_site(magnetisations).square());
  const auto compare = [&](const RealSeries& series) {
    const Value other = tau_of_members(series);
    if (other.value > slowest.value || !std::isfinite(slowest.value)) slowest = other;
  };
  if (is_in_field(task)) compare(per_site(magnetisations));
  if (!task.staggered.empty()) {
    compare(per_site(series_at(task.staggered, temperature)).square());
  }
  return slowest;
}

Value tau_of_overlap(const TaskData& task, std::size_t temperature) {
  const RealSeries q2 =
      (series_at(task.overlap, temperature).cast<double>() / static_cast<double>(task.graph.sites))
          .square();
  const ReplicaDependence coupled = dependence_of(task) == ReplicaDependence::none
                                        ? ReplicaDependence::none
                                        : ReplicaDependence::overlaps;
  return tau_of(member_columns(q2, coupled), configured(task, "sampling.every", 1));
}

namespace {

// Improved estimators of m^2 and, if available, m^4, averaged over time in `parts` blocks per
// replica. [replica * parts, 1 or 2].
Eigen::ArrayXXd cluster_rows(const TaskData& task, std::size_t temperature, std::size_t parts) {
  const auto& sizes = task.cluster_size;
  const Updates cycle = updates_of(task.configuration);
  const double updates = cycle.schedule.cluster * configured(task, "sampling.every", 1);
  const auto sites = static_cast<double>(task.graph.sites);
  const bool wolff = cycle.cluster == ClusterUpdate::wolff;
  const double square = updates * sites * (wolff ? 1.0 : sites);
  // The series holds the fourth moment for q = 2. The square of a single update's sum converts it
  // to any q.
  const double q = model_of(task.configuration).q;
  const bool fourth = !task.cluster_quartic_low.empty() && (q == 2 || updates == 1);
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
          std::ldexp(static_cast<double>(task.cluster_quartic_high.at(temperature, t, r)), 64) +
          static_cast<double>(task.cluster_quartic_low.at(temperature, t, r));
      rows(row, 1) += (two + (q - 2) * size * size) / (updates * (q - 1) * std::pow(sites, 4));
    }
  }
  return rows / static_cast<double>(length);
}

ClusterMoments cluster_moments_in(const TaskData& task, std::size_t temperature,
                                  std::size_t parts) {
  const auto& sizes = task.cluster_size;
  const Value none{kNaN, kNaN};
  if (sizes.empty() || !cluster_sums_fit(task, temperature)) return {none, none, none};
  const Eigen::ArrayXXd rows = cluster_rows(task, temperature, parts);
  const VectorFunction all = [](const Eigen::VectorXd& mean) {
    Eigen::VectorXd result = mean;
    if (mean.size() < 2) return result;
    result.conservativeResize(3);
    result[2] = 1 - mean[1] / (3 * mean[0] * mean[0]);
    return result;
  };
  const Estimates found = jackknife(rows, all);
  if (rows.cols() < 2) return {found[0], none, none};
  return {found[0], found[1], found[2]};
}

}  // namespace

OverlapRows overlap_rows_of(const TaskData& task, std::size_t temperature, Eigen::Index parts) {
  if (task.overlap.empty() || task.overlap.replicas() == 0) return {};
  // With three or more states, the column is the number of equal sites minus that of unequal ones,
  // whose mean is not 0 in the disordered phase.
  if (model_of(task.configuration).q > 2) return {};
  const OverlapRows rows = overlap_rows(
      series_at(task.overlap, temperature), series_at(task.link_overlap, temperature),
      static_cast<double>(task.graph.sites), static_cast<double>(task.graph.bonds), parts);
  const bool coupled = dependence_of(task) != ReplicaDependence::none;
  return member_rows(rows, coupled ? ReplicaDependence::overlaps : ReplicaDependence::none, parts);
}

OverlapRows overlap_changes_of(const TaskData& task, std::size_t temperature) {
  constexpr Eigen::Index quarters = 4;
  if (task.overlap.time() < quarters) return {};
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

bool cluster_sums_fit(const TaskData& task, std::size_t temperature) {
  if (task.cluster_size.empty()) return true;
  const Updates cycle = updates_of(task.configuration);
  if (cycle.cluster == ClusterUpdate::wolff) return true;
  const double updates = cycle.schedule.cluster * configured(task, "sampling.every", 1);
  const double sites = static_cast<double>(task.graph.sites), room = std::ldexp(1.0, 64);
  const double most = updates * sites * sites;
  if (most < room) return true;
  const IntSeries sums = series_at(task.magnetisation, temperature);
  const double m = static_cast<double>(sums.abs().maxCoeff()) / units_of(task).max_magnetisation;
  constexpr double margin = 16;  // the mean sum of squares of an update is M^2
  return (most <= room && m < 1) || margin * most * m * m < room;
}

ClusterMoments cluster_moments_of(const TaskData& task, std::size_t temperature) {
  return cluster_moments_in(task, temperature,
                            static_cast<std::size_t>(block_count(
                                static_cast<Eigen::Index>(task.cluster_size.replicas()),
                                static_cast<Eigen::Index>(task.cluster_size.time()), 0)));
}

bool blocks_too_short(const TemperatureResult& result, double every) {
  if (result.block_length == 0 || result.longest_tau.value == 0) return false;
  return !std::isfinite(result.longest_tau.error) ||
         static_cast<double>(result.block_length) * every <
             kMinBlockTaus * result.longest_tau.value;
}

Eigen::ArrayX2d improved_less_plain(const TaskData& task, std::size_t temperature) {
  if (task.cluster_quartic_low.empty() || !cluster_sums_fit(task, temperature)) return {};
  const Eigen::ArrayXXd improved = cluster_rows(task, temperature, 1);
  if (improved.cols() < 2) return {};
  const Eigen::ArrayXXd m2 =
      (series_at(task.magnetisation, temperature).cast<double>() / units_of(task).max_magnetisation)
          .square();
  Eigen::ArrayX2d difference(improved.rows(), 2);
  difference.col(0) = improved.col(0) - m2.colwise().mean().transpose();
  difference.col(1) = improved.col(1) - m2.square().colwise().mean().transpose();
  return difference;
}

Value cluster_fraction_of(const TaskData& task, std::size_t temperature) {
  return cluster_moments_of(task, temperature).m2;
}

void keep_first(TaskData& task, std::uint64_t measurements) {
  task.for_each_series([&](auto& series) { series.truncate(measurements); });
}

namespace {

struct TemperaturePlace {
  std::size_t task = 0, number = 0;
};

template <class T>
using SeriesOfTasks = std::vector<const Series<T>*>;

// Joins one column of all tasks at some of their temperatures; empty if any task lacks the column.
template <class T>
Series<T> joined(const SeriesOfTasks<T>& series, const std::vector<TemperaturePlace>& places) {
  const std::size_t each = series.front()->replicas();
  Series<T> all(places.size(), each);
  std::size_t time = series[places.front().task]->time();
  for (const TemperaturePlace& place : places) {
    time = std::min(time, series[place.task]->time());
  }
  all.reserve(time);
  std::vector<T> row(places.size() * each);
  for (std::size_t t = 0; t < time; ++t) {
    for (std::size_t k = 0; k < places.size(); ++k) {
      series[places[k].task]
          ->measurement(t)
          .subspan(places[k].number * each, each)
          .copy_to(row.data() + k * each);
    }
    all.append(row);
  }
  return all;
}

}  // namespace

TaskData at_temperatures(std::vector<TaskData> tasks, const std::vector<double>& temperatures) {
  std::vector<TemperaturePlace> places;
  for (const double t : temperatures) {
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      const auto& own = tasks[k].temperature;
      const auto found = std::find(own.begin(), own.end(), t);
      if (found != own.end()) {
        places.push_back({k, static_cast<std::size_t>(found - own.begin())});
      }
    }
  }
  TaskData all;
  all.configuration = tasks.front().configuration;
  all.graph = std::move(tasks.front().graph);
  all.provenance = tasks.front().provenance;
  all.temperature = temperatures;
  all.replicas = tasks.front().replicas;
  Columns<SeriesOfTasks> columns;
  for (const TaskData& task : tasks) {
    for_each_column([](const ColumnInfo&, auto& list, const auto& one) { list.push_back(&one); },
                    columns, task);
  }
  for_each_column(
      [&](const ColumnInfo&, auto& series, const auto& list) { series = joined(list, places); },
      all, columns);
  return all;
}

void drop_first(TaskData& task, std::uint64_t measurements) {
  task.for_each_series([&](auto& series) { series.drop(measurements); });
}

SampleUnits units_of(const TaskData& task) {
  return model_of(task.configuration).sample_units(static_cast<double>(task.graph.sites));
}

double configured(const TaskData& task, const std::string& key, double otherwise) {
  return number_at(task.configuration, key, otherwise);
}

}  // namespace rewise

#include "src/results/observable_groups.hpp"

#include "analysis/series/overlaps.hpp"
#include "src/base/constants.hpp"
#include "src/results/task_results.hpp"

namespace rewise {
namespace {

template <class All>
std::vector<ObservableInfo> infos_of(const All& all) {
  return {all.begin(), all.end()};
}

bool always(const MeasuredTask&) { return true; }

std::vector<TauSeries> no_series(const MeasuredTask&, std::size_t) { return {}; }

RealSeries moment_series(Moment moment, const RealSeries& e, const RealSeries& m) {
  switch (moment) {
    case kEnergy:
      return e;
    case kAbsMagnetisation:
      return m.abs();
    case kM2:
      return m.square();
    case kM4:
      return m.square().square();
    default:
      return m;
  }
}

// A group of functions of Moments. kOrder: the column of the task that takes the place of the
// magnetisation.
template <std::span<const Observable> (*kObservables)(), auto kOrder>
std::vector<TauSeries> series_of_moments(const MeasuredTask& task, std::size_t temperature) {
  const IntSeries bond_sums = series_at(task.data.bond_sum, temperature);
  const IntSeries order = series_at(task.data.*kOrder, temperature);
  RealSeries e, m;
  task.units.per_site(bond_sums.cast<double>(), order.cast<double>(), e, m);
  std::vector<TauSeries> all;
  for (const Observable& o : kObservables()) {
    if (o.mean_of == kMomentCount) continue;
    const RealSeries series = moment_series(o.mean_of, e, m);
    const bool changes = series.size() > 0 && series.minCoeff() < series.maxCoeff();
    all.push_back({o.name, member_columns(series, task.dependence), changes && o.mean_of != kM4});
  }
  return all;
}

template <std::span<const Observable> (*kObservables)(), auto kOrder>
std::vector<Value> values_of_moments(const MeasuredTask& task, std::size_t temperature,
                                     Eigen::Index parts) {
  const IntSeries bond_sums = series_at(task.data.bond_sum, temperature);
  const IntSeries order = series_at(task.data.*kOrder, temperature);
  const auto which = kObservables();
  const double t = task.data.temperature[temperature];
  const auto rows = block_moments(bond_sums, order, task.units, parts, task.dependence);
  std::vector<Value> values = observables_of_graph(rows, task.sites, t, which);
  if (parts == 1) return values;
  // Variances: use the whole series. Adjacent time blocks are correlated, replicas are not.
  const Moments whole = mean_moments(bond_sums, order, task.units, nullptr, task.dependence);
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (which[i].is_variance) values[i].value = which[i].value(whole, task.sites, t);
  }
  return values;
}

template <std::span<const Observable> (*kObservables)(), auto kOrder>
ObservableGroup moment_group(std::string_view name, std::string_view heading,
                             std::string_view slowest, std::string_view slowest_head,
                             bool (*is_measured)(const MeasuredTask&)) {
  return {name,
          heading,
          slowest,
          slowest_head,
          infos_of(kObservables()),
          is_measured,
          series_of_moments<kObservables, kOrder>,
          values_of_moments<kObservables, kOrder>};
}

std::vector<Value> cluster_fraction(const MeasuredTask& task, std::size_t temperature,
                                    Eigen::Index parts) {
  const std::vector<Value> moments = cluster_moments_of(task, temperature, parts);
  return {moments.empty() ? Value{kNaN, kNaN} : moments.front()};
}

std::vector<Value> improved(const MeasuredTask& task, std::size_t temperature, Eigen::Index parts) {
  std::vector<Value> moments = cluster_moments_of(task, temperature, parts);
  return moments.size() == 3 ? moments : std::vector<Value>{};
}

std::vector<TauSeries> overlap_series(const MeasuredTask& task, std::size_t temperature) {
  // In spin glasses q^2 is slower than any m; run_check.cpp compares it with the whole run.
  return {{"overlap_m2", squared_overlaps(task, temperature), false}};
}

std::vector<Value> overlaps(const MeasuredTask& task, std::size_t temperature, Eigen::Index parts) {
  return overlap_values(overlap_rows_of(task, temperature, parts), task.sites);
}

}  // namespace

std::span<const ObservableGroup> observable_groups() {
  static const std::vector<ObservableGroup> all{
      moment_group<observables, &TaskData::magnetisation>("", "", "", "", always),
      {"cluster",
       "",
       "",
       "",
       {{"cluster_fraction", "<C>/N", R"($\langle C\rangle/N$)"}},
       always,
       no_series,
       cluster_fraction},
      {"improved",
       "From the sizes of all clusters (improved estimators)",
       "",
       "",
       {{"improved_m2", "m^2", R"($\langle m^2\rangle$)"},
        {"improved_m4", "m^4", R"($\langle m^4\rangle$)"},
        {"improved_binder", "U", R"(Binder ratio $U$)"}},
       [](const MeasuredTask& task) { return !task.data.cluster_quartic_low.empty(); },
       no_series,
       improved,
       "improved"},
      moment_group<field_observables, &TaskData::magnetisation>(
          "field", "Magnetisation m with its sign (|m| and chi above are without it), and dm/dh",
          "magnetisation", "tau(m)", [](const MeasuredTask& task) { return task.in_field; }),
      moment_group<staggered_observables, &TaskData::staggered>(
          "staggered",
          "Staggered magnetisation m_s, spins of the second sublattice with opposite sign",
          "staggered_m2", "tau(m_s^2)",
          [](const MeasuredTask& task) { return !task.data.staggered.empty(); }),
      {"overlap", "Overlaps q of replicas 2k and 2k + 1, and of their bonds, q_l", "overlap_m2",
       "tau(q^2)", infos_of(overlap_observables()), has_overlaps, overlap_series, overlaps}};
  return all;
}

}  // namespace rewise

#include "src/results/graph_sample.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "graphs/moments.hpp"

namespace rewise {
namespace {

// Half the difference of the moments of the first half of the replicas and of the second half.
// Houdayer moves couple replicas (0, 2) and (1, 3) of each four consecutive ones. The halves never
// split such a pair.
Moments half_difference(const IntSeriesRef& bond_sums, const IntSeriesRef& magnetisations,
                        const SampleUnits& units, ReplicaDependence dependence) {
  const Eigen::Index count = bond_sums.cols();
  if (dependence != ReplicaDependence::none &&
      count <= 4) {  // two such pairs, or one and a single replica
    const auto some = [&](const std::vector<Eigen::Index>& columns) {
      const IntSeries energies = bond_sums(Eigen::all, columns),
                      moments = magnetisations(Eigen::all, columns);
      return mean_moments(energies, moments, units);
    };
    const std::vector<Eigen::Index> last =
        count > 3 ? std::vector<Eigen::Index>{1, 3} : std::vector<Eigen::Index>{1};
    return (some({0, 2}) - some(last)) / 2;
  }
  const Eigen::Index half =
      dependence == ReplicaDependence::none ? count / 2 : std::max<Eigen::Index>(count / 8, 1) * 4;
  const Eigen::Index rest = count - half;
  return (mean_moments(bond_sums.leftCols(half), magnetisations.leftCols(half), units, nullptr,
                       dependence) -
          mean_moments(bond_sums.rightCols(rest), magnetisations.rightCols(rest), units, nullptr,
                       dependence)) /
         2;
}

// Moments of a graph, from its record alone; the graph is not built.
GraphMoments moments_of_record(const TaskSpec& spec, const GraphRecord& graph) {
  if (spec.imported != nullptr) return moments_of(*spec.imported);
  std::vector<RewiredBond> rewired;
  for (std::size_t k = 0; k < graph.rewired(); ++k) {
    rewired.push_back({graph.bond[k], graph.a[k], graph.b[k]});
  }
  return moments_of(Lattice::make(spec.graph.extents), rewired);
}

// Collects one of the tables of all samples, a row per graph.
MomentTable table_of(const SizeSamples& samples, const Eigen::ArrayXd& temperature,
                     MomentRows GraphSample::*rows) {
  MomentTable table;
  table.sites = samples.sites;
  table.temperature = temperature;
  const auto graphs = static_cast<Eigen::Index>(samples.graphs.size());
  for (auto& moment : table.table) moment.resize(graphs, temperature.size());
  for (Eigen::Index g = 0; g < graphs; ++g) {
    const MomentRows& moments_of_graph = samples.graphs[static_cast<std::size_t>(g)].*rows;
    for (Eigen::Index k = 0; k < kMomentCount; ++k) {
      table.table[static_cast<std::size_t>(k)].row(g) = moments_of_graph.col(k).transpose();
    }
  }
  return table;
}

Eigen::ArrayXd as_array(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::ArrayXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

// A constant series has tau = every / 2, the smallest possible.
void raise_tau_bound(const MeasuredTask& task, Eigen::Index row, Value tau, GraphSample& sample) {
  if (std::isfinite(tau.error) || !(tau.value > task.every / 2)) return;
  sample.tau_bound(row) = std::max(sample.tau_bound(row), tau.value);
}

// Adds what the clusters at the temperature with index k give.
void add_clusters(const MeasuredTask& task, std::size_t k, GraphSample& sample) {
  const auto row = static_cast<Eigen::Index>(k);
  sample.cluster_fraction(row) = cluster_fraction_of(task, k);
  const Eigen::ArrayX2d difference = improved_less_plain(task, k);
  if (difference.rows() < 2) return;
  const Eigen::Index half = difference.rows() / 2, rest = difference.rows() - half;
  sample.improved.conservativeResize(sample.tau.size(), 2);
  sample.improved_thermal_noise.conservativeResize(sample.tau.size(), 2);
  sample.improved.row(row) = difference.colwise().mean();
  sample.improved_thermal_noise.row(row) =
      (difference.bottomRows(rest).colwise().mean() - difference.topRows(half).colwise().mean()) /
      2;
}

// Likewise the overlaps. The energy of this temperature is in `simulated`.
void add_overlaps(const MeasuredTask& task, std::size_t k, GraphSample& sample) {
  const OverlapRows overlaps = overlap_rows_of(task, k);
  if (overlaps.rows() == 0) return;
  const auto row = static_cast<Eigen::Index>(k);
  sample.overlaps.conservativeResize(sample.tau.size(), Eigen::NoChange);
  sample.overlaps.row(row) = overlaps.colwise().mean();
  sample.overlap_tau.push_back(tau_of_overlap(task, k));
  raise_tau_bound(task, row, sample.overlap_tau.back(), sample);
  if (const OverlapRows changes = overlap_changes_of(task, k); changes.rows() > 0) {
    sample.overlap_changes.conservativeResize(sample.tau.size(), Eigen::NoChange);
    sample.overlap_changes.row(row) = changes.colwise().mean();
  }
  if (!task.spec.model.interactions.all_gaussian()) return;
  sample.gaussian_excess.conservativeResize(sample.tau.size());
  const double sites_per_bond = task.sites / static_cast<double>(task.data.graph.bonds);
  sample.gaussian_excess(row) =
      sample.overlaps(row, kLinkOverlap) - 1 -
      task.data.temperature[k] * sample.simulated(row, kEnergy) * sites_per_bond;
}

// Moments on the fine grid and, with an energy grid, peaks.
void reweight(const std::vector<MultiHistogram::Input>& inputs, const SampleUnits& units,
              const Eigen::ArrayXd& grid, const SampleOptions& options, GraphSample& sample) {
  sample.fine_grid.resize(grid.size(), kMomentCount);
  if (options.energies != nullptr) {
    constexpr Eigen::Index blocks = 4;
    const MultiHistogram histogram(inputs, units, blocks);
    for (Eigen::Index k = 0; k < grid.size(); ++k) {
      sample.fine_grid.row(k) = histogram.unbiased_moments(1 / grid(k)).transpose();
    }
    sample.peaks = peaks_of_graph(histogram, *options.energies);
  } else if (grid.size() > 0) {
    const MultiHistogram histogram(inputs, units, options.thermal_noise ? 2 : 0);
    const bool halves = histogram.blocks() == 2;
    if (halves) sample.thermal_noise.resize(grid.size(), kMomentCount);
    for (Eigen::Index k = 0; k < grid.size(); ++k) {
      const double beta = 1 / grid(k);
      sample.fine_grid.row(k) = histogram.moments(beta).transpose();
      if (!halves) continue;
      sample.thermal_noise.row(k) =
          (histogram.moments_without(0, beta) - histogram.moments_without(1, beta)).transpose() / 2;
    }
  }
}

}  // namespace

GraphSample graph_sample(const TaskSpec& spec, TaskData data, const Eigen::ArrayXd& grid,
                         const SampleOptions& options) {
  drop_first(data, options.discard);
  const MeasuredTask task(data);
  const auto count = static_cast<Eigen::Index>(data.temperature.size());
  GraphSample sample;
  sample.seed = spec.graph.seed;
  sample.measurements = data.bond_sum.time();
  sample.simulated.resize(count, kMomentCount);
  sample.m2_pair.resize(count);
  sample.tau.resize(count);
  sample.tau_bound = Eigen::ArrayXd::Zero(count);
  sample.in_field = task.in_field;
  sample.discarded = options.discard;
  sample.halves = hot_cold_difference(task, 0, data.bond_sum.time());
  sample.exchange = exchange_result(task);
  sample.cluster_fraction.resize(count);
  const double dropped = task.discarded + static_cast<double>(options.discard) * task.every;
  const bool made_round_trips = round_trips_before(task, dropped);
  std::vector<MultiHistogram::Input> inputs;
  // The series to which `inputs` refers; without reweighting, those of one temperature at a time.
  std::deque<IntSeries> series;
  const bool reweighted = grid.size() > 0 || options.energies != nullptr;
  series.resize(2 * (reweighted ? data.temperature.size() : 1));
  for (std::size_t k = 0; k < data.temperature.size(); ++k) {
    const auto row = static_cast<Eigen::Index>(k);
    IntSeries& bond_sums = series[reweighted ? 2 * k : 0];
    IntSeries& magnetisations = series[reweighted ? 2 * k + 1 : 1];
    series_at(data.bond_sum, k, bond_sums);
    series_at(data.magnetisation, k, magnetisations);
    sample.simulated.row(row) =
        mean_moments(bond_sums, magnetisations, task.units, &sample.m2_pair(row), task.dependence)
            .transpose();
    if (!data.staggered.empty()) {
      sample.staggered.conservativeResize(count, Eigen::NoChange);
      sample.staggered.row(row) = mean_moments(bond_sums, series_at(data.staggered, k), task.units,
                                               nullptr, task.dependence)
                                      .transpose();
    }
    const Value tau = tau_of_order(task, k, magnetisations);
    sample.tau(row) = tau.value;
    raise_tau_bound(task, row, tau, sample);
    sample.stuck.push_back(
        stuck_replicas(task, bond_sums, magnetisations, tau, dropped, made_round_trips));
    add_clusters(task, k, sample);
    add_overlaps(task, k, sample);
    if (reweighted) inputs.push_back({1 / data.temperature[k], bond_sums, magnetisations});
    if (options.thermal_noise && bond_sums.cols() > 1) {
      sample.simulated_thermal_noise.conservativeResize(count, kMomentCount);
      sample.simulated_thermal_noise.row(row) =
          half_difference(bond_sums, magnetisations, task.units, task.dependence).transpose();
    }
  }
  reweight(inputs, task.units, grid, options, sample);
  const GraphMoments moments = moments_of_record(spec, data.graph);
  sample.rewired_ends = moments.rewired_ends;
  sample.sum_k2 = moments.sum_k2;
  return sample;
}

MomentTable fine_grid_table(const SizeSamples& samples) {
  return table_of(samples, samples.grid, &GraphSample::fine_grid);
}

MomentTable thermal_noise_table(const SizeSamples& samples) {
  return table_of(samples, samples.grid, &GraphSample::thermal_noise);
}

MomentTable simulated_table(const SizeSamples& samples, const std::vector<double>& temperatures) {
  return table_of(samples, as_array(temperatures), &GraphSample::simulated);
}

MomentTable staggered_table(const SizeSamples& samples, const std::vector<double>& temperatures) {
  for (const GraphSample& graph : samples.graphs) {
    if (graph.staggered.rows() == 0) return {};
  }
  return table_of(samples, as_array(temperatures), &GraphSample::staggered);
}

MomentTable simulated_thermal_noise_table(const SizeSamples& samples,
                                          const std::vector<double>& temperatures) {
  return table_of(samples, as_array(temperatures), &GraphSample::simulated_thermal_noise);
}

namespace {

// Adds improved minus plain estimators as control variates: their exact mean is 0 at every
// temperature. One control for m^2 and one for m^4: a weighted sum over temperatures, in units of
// their averages over graphs, with weights that fall with the distance from the middle of the
// window as in reweighting. A control is omitted if there are too few graphs.
void add_improved(const SizeSamples& samples, ControlVariates& known) {
  const auto graphs = static_cast<Eigen::Index>(samples.graphs.size());
  const Eigen::Index temperatures = samples.graphs.front().improved.rows();
  for (const GraphSample& graph : samples.graphs) {
    if (graph.improved.rows() != temperatures || temperatures == 0) return;
  }
  known.noise = Eigen::ArrayXXd::Zero(graphs, known.x.cols());
  constexpr Eigen::Index moment[] = {kM2, kM4};
  constexpr const char* name[] = {"improved_m2", "improved_m4"};
  for (const Eigen::Index o : {0, 1}) {
    const Eigen::Index k = known.x.cols();
    if (graphs < kGraphsPerControl * (k + 2)) return;
    known.x.conservativeResize(graphs, k + 1);
    known.noise.conservativeResize(graphs, k + 1);
    known.mu.conservativeResize(k + 1);
    known.x.col(k) = known.noise.col(k) = 0;
    known.mu(k) = 0;
    known.names.emplace_back(name[o]);
    for (Eigen::Index t = 0; t < temperatures; ++t) {
      double mean = 0;
      for (const GraphSample& graph : samples.graphs) mean += graph.simulated(t, moment[o]);
      const double x =
          temperatures > 1
              ? 2.0 * static_cast<double>(t) / static_cast<double>(temperatures - 1) - 1
              : 0;
      const double weight = std::exp(-1.4 * x * x) * static_cast<double>(graphs) / mean;
      for (Eigen::Index g = 0; g < graphs; ++g) {
        const GraphSample& graph = samples.graphs[static_cast<std::size_t>(g)];
        known.x(g, k) += weight * graph.improved(t, o);
        known.noise(g, k) += weight * graph.improved_thermal_noise(t, o);
      }
    }
  }
}

}  // namespace

ControlVariates controls(const SizeSamples& samples) {
  const GraphMoments exact = exact_means(samples.spec);
  const auto graphs = static_cast<Eigen::Index>(samples.graphs.size());
  // With few moved ends many graphs are equal. As long as hardly any two ends meet at a site, sum
  // k^2 contains no more information than their number, and fitting it would only add noise.
  constexpr double least_ends = 5, least_meetings = 5;
  const double meetings = exact.rewired_ends * exact.rewired_ends / samples.sites;
  // The exact means have small errors on small lattices. The resulting shift of a moment must be
  // far below its statistical error, about 1/sqrt(graphs) of the standard deviation between graphs.
  constexpr double most_shift = 0.1;
  const bool centred =
      shift_of_sum_k2(samples.spec) * std::sqrt(static_cast<double>(graphs)) < most_shift;
  ControlVariates result;
  const auto add = [&](const char* name, double mean, double GraphSample::*value) {
    if (!std::isfinite(mean)) return;  // unknown for this rule
    const Eigen::Index k = result.x.cols();
    result.x.conservativeResize(graphs, k + 1);
    result.mu.conservativeResize(k + 1);
    result.mu(k) = mean;
    result.names.emplace_back(name);
    for (Eigen::Index g = 0; g < graphs; ++g) {
      result.x(g, k) = samples.graphs[static_cast<std::size_t>(g)].*value;
    }
  };
  if (exact.rewired_ends >= least_ends && centred)
    add("rewired_ends", exact.rewired_ends, &GraphSample::rewired_ends);
  if (meetings >= least_meetings && centred) add("sum_k2", exact.sum_k2, &GraphSample::sum_k2);
  if (samples.improved) add_improved(samples, result);
  return result;
}

}  // namespace rewise

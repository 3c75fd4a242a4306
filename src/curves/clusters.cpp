#include "src/curves/clusters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/series/correlation_curve.hpp"
#include "analysis/series/size_histogram.hpp"
#include "graphs/graph.hpp"
#include "src/base/setting_name.hpp"

namespace rewise {
namespace {

constexpr int kPerDecade = 8;
constexpr std::uint64_t kTimeBlocks = 8;  // per replica: rows for the covariance
constexpr Eigen::Index kEqualBins = 100;

struct Counts {
  std::vector<std::uint64_t> borders;
  Eigen::ArrayXXd logarithmic, equal;  // [graph, replica and block; bin]
  Eigen::ArrayXXd means;               // [graph and replica; cluster/N, m^2, large, small]
};

Counts empty_counts(const CurveSpec& spec) {
  Counts counts;
  counts.borders = logarithmic_bins(spec.sites(), kPerDecade);
  const auto systems = static_cast<Eigen::Index>(spec.graphs) * spec.replicas;
  const auto members = systems * static_cast<Eigen::Index>(kTimeBlocks);
  counts.logarithmic =
      Eigen::ArrayXXd::Zero(members, static_cast<Eigen::Index>(counts.borders.size()) - 1);
  counts.equal = Eigen::ArrayXXd::Zero(members, kEqualBins);
  counts.means = Eigen::ArrayXXd::Zero(systems, 4);
  return counts;
}

void count_graph(const CurveSpec& spec, Engine& engine, const Schedule& schedule, std::uint32_t g,
                 Counts& counts, const StopToken& stop) {
  const SampleUnits units = spec.units();
  const std::uint64_t block = std::max<std::uint64_t>(spec.measure / kTimeBlocks, 1);
  const auto total = static_cast<double>(block * kTimeBlocks);
  Observation seen;
  engine.measure(seen);  // discards the clusters of the equilibration
  for (std::uint64_t t = 0; t < block * kTimeBlocks; ++t) {
    check_stop(stop);
    engine.advance(schedule, 1);
    engine.measure(seen);
    for (std::uint32_t r = 0; r < spec.replicas; ++r) {
      const auto system = static_cast<Eigen::Index>(g * spec.replicas + r);
      const auto member =
          system * static_cast<Eigen::Index>(kTimeBlocks) + static_cast<Eigen::Index>(t / block);
      const std::uint64_t size = seen.cluster_size[r];
      const double share = static_cast<double>(size) / units.sites;
      const double m = static_cast<double>(seen.magnetisation[r]) / units.max_magnetisation;
      counts.logarithmic(member, static_cast<Eigen::Index>(bin_of(counts.borders, size))) += 1;
      counts.equal(member,
                   std::min(static_cast<Eigen::Index>(share * kEqualBins), kEqualBins - 1)) += 1;
      counts.means(system, 0) += share / total;
      counts.means(system, 1) += m * m / total;
      counts.means(system, 2) += share > 0.5 ? 1 / total : 0;
      counts.means(system, 3) += share < 0.01 ? 1 / total : 0;
    }
  }
}

// Jackknife over graphs, `members` rows each: the fit's own error treats rows as independent.
double error_over_graphs(const Counts& counts, Eigen::Index members, double from, double to) {
  const Eigen::ArrayXXd& all = counts.logarithmic;
  const Eigen::Index graphs = all.rows() / members;
  Eigen::ArrayXd without(graphs);
  for (Eigen::Index g = 0; g < graphs; ++g) {
    Eigen::ArrayXXd rows(all.rows() - members, all.cols());
    rows << all.topRows(g * members), all.bottomRows((graphs - g - 1) * members);
    const SizeLaw law = fit_size_law(counts.borders, rows, from, to);
    without[g] = law.ok ? law.exponent.value : std::nan("");
  }
  const auto n = static_cast<double>(graphs);
  return std::sqrt((without - without.mean()).square().sum() * (n - 1) / n);
}

void conclude(CurveSet& set, const CurveSpec& spec, const CurveKeys& keys, const Counts& counts) {
  const auto replicas = static_cast<Eigen::Index>(spec.replicas);
  const Eigen::Index members = replicas * static_cast<Eigen::Index>(kTimeBlocks);  // per graph
  const SizeHistogram h = size_histogram(counts.borders, counts.logarithmic, members);
  Curve& sizes = set.table("sizes").curves.emplace_back(Curve{keys, {}});
  sizes.add("size", h.size);
  sizes.add("density", h.density);
  sizes.add("density_error", h.error);
  const double width = static_cast<double>(spec.sites()) / kEqualBins;
  const MeanCurve equal = mean_over_groups(counts.equal / counts.equal.row(0).sum(), members);
  Curve& shares = set.table("shares").curves.emplace_back(Curve{keys, {}});
  shares.add("size", (Eigen::ArrayXd::LinSpaced(kEqualBins, 0, kEqualBins - 1) + 0.5) * width);
  shares.add("share", equal.value);
  shares.add("share_error", equal.error);

  const double to = spec.fit_to > 0 ? spec.fit_to : static_cast<double>(spec.sites()) / 50;
  SizeLaw law = fit_size_law(counts.borders, counts.logarithmic, spec.fit_from, to);
  if (law.ok && spec.graphs > 1) {
    const double error = error_over_graphs(counts, members, spec.fit_from, to);
    law.exponent.error = std::isnan(error) ? error : std::max(error, law.exponent.error);
  }
  const double nan = std::nan("");
  const MeanCurve means = mean_over_groups(counts.means, replicas);
  MetricRow& row = set.metrics.emplace_back(MetricRow{keys, {}});
  row.add("exponent", law.ok ? law.exponent : Value{nan, nan});
  row.add("amplitude", {law.ok ? law.amplitude : nan, nan});
  row.add("fit_q", {law.ok ? law.q : nan, 0});
  row.add("fit_from", {law.from, 0});
  row.add("fit_to", {law.to, 0});
  const char* names[] = {"cluster_fraction", "m2", "share_large", "share_small"};
  for (Eigen::Index k = 0; k < 4; ++k) row.add(names[k], {means.value[k], means.error[k]});
}

void check_mix(const Updates& mix) {
  if (mix.cluster == ClusterUpdate::wolff && mix.schedule.cluster == 1) return;
  throw Error(
      ExitCode::usage,
      fmt::format("{}: '{}' does not grow one Wolff cluster per cycle (allowed: 0:1 or M:1)",
                  setting_name("schedule"), to_string(mix)));
}

void measure_mix(CurveSet& set, const CurveSpec& spec, const std::vector<Graph>& graphs,
                 double temperature, const Updates& mix, const StopToken& stop,
                 Progress& progress) {
  Counts counts = empty_counts(spec);
  for (std::uint32_t g = 0; g < spec.graphs; ++g) {
    Updates first = spec.prepare;
    first.local = mix.local;
    auto engine = curve_engine(spec, graphs[g], g, temperature, first, Start::mixed);
    for (std::uint64_t c = 0; c < spec.equilibrate; ++c) {
      check_stop(stop);
      engine->advance(first.schedule, 1);
    }
    if (first.cluster != mix.cluster) {
      Observation seen;
      engine->measure(seen);  // resets the cluster sums before the next update
      const EngineState start = engine->save();
      engine = curve_engine(spec, graphs[g], g, temperature, mix, Start::mixed);
      engine->restore(start);
    }
    count_graph(spec, *engine, mix.schedule, g, counts, stop);
    progress.add(1.0 / spec.graphs);
  }
  conclude(set, spec, curve_keys(temperature, mix), counts);
}

}  // namespace

CurveSet measure_clusters(const CurveSpec& spec, const StopToken& stop, Progress& progress) {
  for (const Updates& mix : spec.mixes) check_mix(mix);
  if (!spec.model.is_ferromagnet()) {
    throw Error(ExitCode::usage,
                "clusters: with couplings or fields, engines do not record the sizes of clusters, "
                "whose spins differ; leave these options out");
  }
  CurveSet set;
  set.kind = "clusters";
  set.about = spec_json(spec);
  const std::vector<Graph> graphs = curve_graphs(spec);
  for (const double temperature : spec.temperatures) {
    for (const Updates& mix : spec.mixes) {
      measure_mix(set, spec, graphs, temperature, mix, stop, progress);
    }
  }
  set.notes.push_back(
      "exponent at Tc: square lattice 16/15, cubic 1.209, rewired lattices (mean field) 4/3");
  return set;
}

}  // namespace rewise

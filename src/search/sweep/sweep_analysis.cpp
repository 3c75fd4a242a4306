#include "src/search/sweep/sweep_analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/count_text.hpp"
#include "src/results/task_results.hpp"
#include "src/search/sweep/sweep_checks.hpp"
#include "src/settings/ergodicity.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

constexpr std::size_t kFewGraphs = 4;

// With few replicas, errors and products of averages come from time blocks, which must be
// uncorrelated (task_results.hpp, moments.hpp).
void warn_of_short_blocks(SweepPoint& point, const SizeData& size, const StudyConfig& config) {
  const std::uint32_t replicas = config.replicas;
  constexpr std::uint64_t pair_blocks = 8;
  constexpr double apart = 2;  // tau_int
  const auto every = static_cast<double>(size.plan.every);
  for (const TemperatureResult& result : size.single) {
    if (!blocks_too_short(result, every)) continue;
    point.warnings.push_back(fmt::format(
        "{}: errors are too small: with {} of one graph, they come from time blocks of "
        "{} cycles, but tau_int is at least {:.2g} cycles; raise sampling.measure or use {} "
        "replicas",
        size_text(size), count_text(replicas, "replica"),
        static_cast<double>(result.block_length) * every, result.longest_tau.value,
        few_replicas(config.houdayer)));
    break;
  }
  const double tau = longest_tau(size);
  const std::uint64_t length = std::max<std::uint64_t>(size.plan.measure / pair_blocks, 1);
  if (replicas == 1 && (size.plan.measure < pair_blocks * pair_blocks ||
                        static_cast<double>(length) * every < apart * tau)) {
    point.warnings.push_back(
        fmt::format("{}: C and chi are too small: with one replica, they need more than {} "
                    "measurements over {} tau_int; raise sampling.measure or use two replicas",
                    size_text(size), size.plan.measure, 2 * apart * pair_blocks));
  }
}

// Without a round trip, replica exchange may not have equilibrated the lowest temperatures.
std::string round_trip_warning(const SizeData& size) {
  const auto& graphs = size.samples.graphs;
  const auto without = std::ranges::count_if(graphs, [](const GraphSample& graph) {
    return graph.exchange && graph.exchange->round_trips == 0;
  });
  if (without == 0) return "";
  const std::string where =
      graphs.size() == 1 ? "" : fmt::format("on {} of {} graphs ", without, graphs.size());
  return fmt::format("{}: replica exchange: {}{}", size_text(size), where, kNoRoundTrip);
}

// Warns if Metropolis sweeps are not ergodic on a graph from a file; "" if they are.
std::string ergodicity_warning(const SweepPoint& point, const SizeData& size,
                               const StudyConfig& config) {
  TaskSpec spec;
  spec.imported = point.imported;
  spec.engine = config.engine;
  spec.model = config.model;
  spec.local = point.local;
  spec.set(size.plan);
  return metropolis_warning(spec, std::nullopt, SettingNames::keys());
}

// Computes the averages over the graphs of a size so far, and warnings.
SizeAverages averages_of(const StudyConfig& config, SweepPoint& point, const SizeData& size) {
  const auto warn = [&](std::string line) {
    if (!line.empty()) point.warnings.push_back(std::move(line));
  };
  const std::size_t graphs = size.samples.graphs.size();
  SizeAverages averages{graphs == 1 ? curves_of_one_graph(size) : simulated_curves(size),
                        compare_halves(size)};
  for (const std::string& line : reject_temperatures(config, size, averages)) warn(line);
  warn(equilibrium_warning(config, size));
  warn(round_trip_warning(size));
  if (point.imported) {
    const std::string line = ergodicity_warning(point, size, config);
    if (!line.empty()) warn(fmt::format("{}: {}", size_text(size), line));
  }
  if (graphs == 1) warn_of_short_blocks(point, size, config);
  if (graphs > 1 && graphs < kFewGraphs) {
    warn(
        fmt::format("{}: errors come from the spread between {} graphs and may be too small by "
                    "chance: use at least {} graphs",
                    size_text(size), graphs, kFewGraphs));
  }
  return averages;
}

}  // namespace

SweepResult analyse_point(const StudyConfig& config, SweepPoint point) {
  SweepResult result{std::move(point), {}, {}};
  for (const SizeData& size : result.sizes) {
    result.averages.push_back(averages_of(config, result, size));
  }
  StudyConfig own = config;
  own.rules = {result.rule};
  if (overlap_crossings_of(own) != OverlapCrossings::none) {
    result.crossings = overlap_crossings(result.p, result.sizes, result.averages);
  }
  return result;
}

std::vector<SweepResult> analyse_sweep(const StudyConfig& config, std::vector<SweepPoint> points) {
  std::vector<SweepResult> results;
  for (SweepPoint& point : points) results.push_back(analyse_point(config, std::move(point)));
  return results;
}

}  // namespace rewise

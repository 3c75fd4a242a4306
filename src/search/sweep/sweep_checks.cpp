#include "src/search/sweep/sweep_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "src/base/constants.hpp"

namespace rewise {
namespace {

// Maximum share of graphs whose series are too short to determine tau_int and follow a short
// equilibration. Above it, a temperature of a model with couplings has no values, because ordered
// and random starts may agree long before equilibrium.
constexpr double kUnknownShare = 0.1;

void blank(SizeCurves& curves, std::size_t t) {
  curves.rejected.push_back(curves.temperatures[t]);
  for (auto& [name, curve] : curves.values) {
    if (name != "exchange_accepted") curve[t] = {kNaN, kNaN};
  }
}

// Where hot and cold starts differ. The joint level of all temperatures is that of
// compare_halves().
void blank_rejected(const SizeData& size, SizeCurves& curves) {
  const std::size_t count = curves.temperatures.size();
  for (std::size_t t = 0; t < count; ++t) {
    std::vector<HotColdDifference> graphs;
    for (const auto& graph : size.samples.graphs) {
      graphs.push_back(at_temperature(graph.halves, static_cast<Eigen::Index>(t)));
    }
    if (compare_halves(graphs, kEquilibriumLevel / static_cast<double>(count)).agree) continue;
    blank(curves, t);
  }
}

// Sets the values to NaN at temperatures t for which why(t) returns a reason, not "". Returns a
// warning that lists these temperatures, or "".
template <class Why>
std::string blank_where(const StudyConfig& config, const SizeData& size, SizeCurves& curves,
                        const Why& why, std::string_view verdict = "not in equilibrium",
                        const std::string& cure = "") {
  std::vector<double> without;
  std::string first;  // the reason at the first of these temperatures
  for (std::size_t t = 0; t < curves.temperatures.size(); ++t) {
    const double temperature = curves.temperatures[t];
    if (std::ranges::find(curves.rejected, temperature) != curves.rejected.end()) continue;
    const std::string reason = why(t);
    if (reason.empty()) continue;
    blank(curves, t);
    if (without.empty()) first = reason;
    without.push_back(temperature);
  }
  if (without.empty()) return "";
  return fmt::format("{}: no values at T = {}: {}: at T = {}, {}; {}", size_text(size),
                     fmt::join(without, ", "), verdict, without.front(), first,
                     cure.empty() ? equilibrium_cure(config) : cure);
}

double level_of_temperature(const SizeCurves& curves) {
  return kEquilibriumLevel / static_cast<double>(curves.temperatures.size());
}

// With fixed numbers of cycles: if replicas of a graph are stuck, if the mean of tau_int exceeds
// the length of the series, or, in models with couplings or fields, if the series of too many
// graphs are too short to determine tau_int of m^2 or q^2, and fewer than kStartTaus times its
// lower bound were dropped before them.
std::vector<std::string> blank_stuck(const StudyConfig& config, const SizeData& size,
                                     SizeCurves& curves) {
  if (!config.equilibrate) return {};
  const SizePlan& plan = size.plan;
  const auto& graphs = size.samples.graphs;
  const auto cycles = [&](std::uint64_t measurements) {
    return static_cast<double>(measurements * plan.every);
  };
  const double length = cycles(plan.measure);
  const double dropped =
      static_cast<double>(plan.warm_up.cycles + plan.equilibrate) + cycles(plan.discard);
  const auto stuck_at = [&](std::size_t t) -> std::string {
    std::vector<std::size_t> stuck;
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      if (t < graphs[g].stuck.size() && !graphs[g].stuck[t].empty()) stuck.push_back(g);
    }
    if (stuck.empty()) return "";
    return fmt::format("some replicas are stuck{}: {}", on_graphs(size, stuck),
                       graphs[stuck.front()].stuck[t]);
  };
  const auto long_at = [&](std::size_t t) -> std::string {
    const double tau = curves.at("tau", t).value;
    if (!(tau > length)) return "";
    return fmt::format("tau, {:.2g} cycles, is longer than the {} measured cycles", tau, length);
  };
  const auto unknown_at = [&](std::size_t t) -> std::string {
    const auto row = static_cast<Eigen::Index>(t);
    std::vector<std::size_t> unknown;
    double bound = 0;
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      const Eigen::ArrayXd& bounds = graphs[g].tau_bound;
      if (row >= bounds.size() || dropped >= kStartTaus * bounds(row)) continue;
      unknown.push_back(g);
      bound = std::max(bound, bounds(row));
    }
    if (!(static_cast<double>(unknown.size()) >
          kUnknownShare * static_cast<double>(graphs.size()))) {
      return "";
    }
    return fmt::format(
        "{} measurements are too few to determine tau{}, which is more than {:.2g} cycles, and {} "
        "cycles before the first one are few",
        plan.measure, on_graphs(size, unknown), bound, dropped);
  };
  std::vector<std::string> warnings{blank_where(config, size, curves, stuck_at),
                                    blank_where(config, size, curves, long_at)};
  if (!config.model.is_ferromagnet()) {
    warnings.push_back(blank_where(config, size, curves, unknown_at, "nothing shows equilibrium",
                                   "raise sampling.measure and sampling.equilibrate"));
  }
  return warnings;
}

// If overlaps still change during the measurements.
std::string blank_drifting(const StudyConfig& config, const SizeData& size, SizeCurves& curves) {
  const auto& graphs = size.samples.graphs;
  for (const GraphSample& graph : graphs) {
    if (graph.overlap_changes.rows() == 0) return "";
  }
  const double level = level_of_temperature(curves);
  return blank_where(config, size, curves, [&](std::size_t t) {
    OverlapRows changes(static_cast<Eigen::Index>(graphs.size()),
                        static_cast<Eigen::Index>(kOverlapMomentCount));
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      changes.row(static_cast<Eigen::Index>(g)) =
          graphs[g].overlap_changes.row(static_cast<Eigen::Index>(t));
    }
    return overlap_drift(changes, level);
  });
}

// If the energy and the link overlap contradict each other, for Gaussian couplings of all bonds: in
// equilibrium [<q_l>] = 1 + T [<e>] N / B (Katzgraber, Palassini & Young, Phys. Rev. B 63, 184422
// (2001)). From a random start, the left side rises to its limit and the right side falls, so that
// they agree only where both are in equilibrium. Student's t test over kMinGraphs graphs or more.
std::string blank_off_identity(const StudyConfig& config, const SizeData& size,
                               SizeCurves& curves) {
  const auto& graphs = size.samples.graphs;
  if (graphs.size() < kMinGraphs) return "";
  for (const GraphSample& graph : graphs) {
    if (graph.gaussian_excess.size() == 0) return "";
  }
  const double level = level_of_temperature(curves);
  return blank_where(config, size, curves, [&](std::size_t t) -> std::string {
    std::vector<double> excess;
    for (const GraphSample& graph : graphs) {
      excess.push_back(graph.gaussian_excess(static_cast<Eigen::Index>(t)));
    }
    const Agreement found = compare_to_zero(excess, level);
    if (found.agree) return "";
    return fmt::format(
        "the link overlap differs by {:.1f} standard errors from what the energy implies for "
        "Gaussian couplings",
        std::abs(found.z));
  });
}

// With replica exchange: at temperatures that rejected ones affect (affected_temperatures()).
std::string blank_affected(const StudyConfig& config, const SizeData& size, SizeCurves& curves) {
  if (!config.exchange) return "";
  // Replicas are exchanged within a task. Temperatures that were added later have tasks of their
  // own.
  auto tasks = config.temperature_tasks;
  if (tasks.empty()) tasks.push_back(curves.temperatures);
  std::map<double, double> beside;  // a temperature, and the rejected one that affects it
  for (const std::vector<double>& task : tasks) {
    std::vector<double> rejected;
    for (const double t : curves.rejected) {
      if (std::ranges::find(task, t) != task.end()) rejected.push_back(t);
    }
    for (const AffectedTemperature& one : affected_temperatures(task, rejected)) {
      beside[task[one.index]] = one.rejected;
    }
  }
  return blank_where(config, size, curves, [&](std::size_t t) -> std::string {
    const auto found = beside.find(curves.temperatures[t]);
    if (found == beside.end()) return "";
    return fmt::format("replicas are exchanged with T = {}, which has no values", found->second);
  });
}

}  // namespace

std::vector<std::string> reject_temperatures(const StudyConfig& config, const SizeData& size,
                                             SizeAverages& averages) {
  std::vector<std::string> warnings;
  SizeCurves& curves = averages.curves;
  if (!averages.hot_cold.agree) {
    warnings.push_back(fmt::format("{}: not in equilibrium: {}; {}", size_text(size),
                                   differing_starts(size, averages.hot_cold),
                                   equilibrium_cure(config)));
    blank_rejected(size, curves);
  }
  warnings.push_back(blank_drifting(config, size, curves));
  warnings.push_back(blank_off_identity(config, size, curves));
  std::ranges::move(blank_stuck(config, size, curves), std::back_inserter(warnings));
  warnings.push_back(blank_affected(config, size, curves));
  std::erase(warnings, "");
  return warnings;
}

}  // namespace rewise

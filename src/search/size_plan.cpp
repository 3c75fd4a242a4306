#include "src/search/size_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/scaling/extrapolation.hpp"
#include "analysis/scaling/regular_lattice.hpp"
#include "src/base/error.hpp"
#include "src/base/round_to_digits.hpp"
#include "src/search/known_tc.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

// <k(k-1)>/<k> of the degrees under a rule (analysis/README.md: binomial and Poisson
// contributions).
double branching(int dim, Rule rule, double p) {
  const double lattice = 2.0 * dim;
  double mean = lattice, variance = 0;
  rule = base_rule(rule);
  if (rule == Rule::rewire) variance = lattice * (p / 2) * (1 - p / 2) + dim * p;
  if (rule == Rule::add) {
    mean = lattice * (1 + p);
    variance = lattice * p;
  }
  return (variance + mean * mean - mean) / mean;
}

// Temperature at which order and disorder coexist in the Potts model on a random regular graph of
// degree b + 1.
double bethe_tc(double b, std::uint32_t q) {
  if (q == 2) return 1 / std::log((b + 1) / (b - 1));
  const double k = b + 1, states = q;
  return 1 / std::log((states - 2) / (std::pow(states - 1, 1 - 2 / k) - 1));
}

// Tc of the regular lattice, the lower end of the search. Rounded, because temperatures of studies
// derive from these digits.
double regular_tc(int dim) { return round_to_digits(regular_lattice(dim).tc().value, 4); }

}  // namespace

TemperatureRange scan_range(int dim, Rule rule, double p, const Model& model) {
  const double b = std::max(branching(dim, rule, p), 1.02);
  if (model.is_potts()) {
    const double lattice =
        potts_tc(dim, 0, model.q).value_or(0.9 * bethe_tc(2.0 * dim - 1, model.q));
    return {dim == 1 ? 0.05 : 0.88 * lattice, 1.2 * bethe_tc(b, model.q)};
  }
  const double bethe = 1 / std::atanh(1 / b);
  return {std::max(0.88 * regular_tc(dim), 0.15), 1.2 * bethe};
}

TemperatureRange likely_range(const StudyConfig& config, double p) {
  const TemperatureRange all = scan_range(config, p);
  const int dim = config.dim();
  if (p <= 0 || dim < 2 || config.model.is_potts()) return all;
  // Rough values: temperatures of studies derive from these digits, too.
  constexpr double amplitude[] = {0, 0, 0.9625, 1.06, 1};  // of chi above Tc
  const double gamma = round_to_digits(regular_lattice(dim).gamma, 4);
  const double tc = regular_tc(dim);
  const double chi = 1 / (2 * dim * p * std::tanh(1 / tc));
  const double shift = tc * std::pow(amplitude[dim] / chi, 1 / gamma);
  const double removed = base_rule(config.rule()) == Rule::add ? 0 : 1.3 * p * tc;
  double low = tc + 0.3 * std::max(shift - removed, 0.3 * shift);
  const double high = tc + 2 * shift;
  if (base_rule(config.rule()) == Rule::swap) {
    const double regular_graph = 1 / std::atanh(1 / (2.0 * dim - 1));  // Tc at p = 1
    low = std::min(low, tc + 0.3 * (regular_graph - tc));
  }
  return {std::max(all.from, low), std::min(all.to, high)};
}

std::vector<double> scan_temperatures(TemperatureRange range, double sites) {
  // An energy histogram covers about T sqrt(C / N) in temperature; C is about 1 to 2.
  const double spacing = std::clamp(2.0 / std::sqrt(sites), 0.02, 0.06);
  constexpr int least = 8;
  const auto fine = static_cast<int>(std::ceil(std::log(range.to / range.from) / spacing)) + 1;
  const int count = std::max(fine, least);
  const double ratio = std::pow(range.to / range.from, 1.0 / (count - 1));
  std::vector<double> temperatures;
  for (int k = 0; k < count; ++k) {
    temperatures.push_back(round_to_digits(range.from * std::pow(ratio, k), ratio > 1.01 ? 5 : 8));
  }
  return temperatures;
}

SizePlan scan_plan(SizePlan plan, TemperatureRange range, double sites) {
  plan.temperatures = scan_temperatures(range, sites);
  plan.equilibrate = 200;
  plan.measure = 100;
  plan.every = 2;
  return plan;
}

double half_window(double centre, int dim, double p, double sites, std::uint32_t q) {
  // The window covers about half of the range of (T - Tc)/Tc N^y in which U falls from almost 2/3
  // to almost 0.
  double y = p == 0 && dim == 3 ? regular_exponents(dim).y : 0.5;
  if (p == 0 && dim == 2 && (q == 3 || q == 4)) y = potts_exponents(dim, static_cast<int>(q)).y;
  return 1.3 * centre * std::pow(sites, -y);
}

std::vector<double> window_temperatures(double centre, double half_width, int count) {
  const double grain = half_width / 16;
  const double middle = std::round(centre / grain) * grain;
  std::vector<double> temperatures;
  for (int k = 0; k < count; ++k) {
    temperatures.push_back(round_to_digits(middle + half_width * (2.0 * k / (count - 1) - 1), 7));
  }
  return temperatures;
}

Schedule automatic_schedule(double p, double sites) {
  if (p == 0) return {1, 1};
  return {1, static_cast<std::uint32_t>(std::max(1.0, std::round(std::sqrt(sites) / 128)))};
}

SizePlan first_plan(const std::optional<Schedule>& schedule,
                    const std::optional<ClusterUpdate>& cluster, double p, double sites) {
  SizePlan plan;
  plan.schedule = schedule.value_or(automatic_schedule(p, sites));
  plan.cluster = cluster.value_or(ClusterUpdate::wolff);
  return plan;
}

void choose_times(const StudyConfig& config, double p, double tau, SizePlan& plan) {
  const double cycles = std::isfinite(tau) ? std::max(tau, 0.5) : 10;
  plan.every = config.every.value_or(static_cast<std::uint64_t>(std::ceil(cycles)));
  plan.measure = config.measure.value_or(p > 0 ? 20 : 60);
}

std::uint64_t first_measurements(std::uint32_t replicas) {
  constexpr std::uint64_t least = 4, samples = 128;  // per temperature
  return std::max(samples / replicas, least);
}

std::uint32_t first_graphs(const StudyConfig& config, std::size_t size) {
  const std::uint32_t graphs = config.graphs[std::min(size, config.graphs.size() - 1)];
  return config.target_error ? std::max(graphs, kPilotGraphs) : graphs;
}

TaskSpec plan_task(const StudyConfig& config, double p, const std::vector<std::uint32_t>& extents,
                   std::uint32_t graph, const SizePlan& plan, const std::string& purpose) {
  const std::string name = fmt::format("{}|{}|p={}|{}|{}", purpose, extents_text(extents),
                                       number_text(p), to_string(config.rule()), graph);
  TaskSpec spec;
  static_cast<TaskSettings&>(spec) = config;
  spec.graph.extents = extents;
  spec.graph.p = p;
  spec.graph.rule = config.rule();
  spec.graph.seed = derived_seed(config.seed, "graph|" + name);
  spec.seed = derived_seed(config.seed, "run|" + name);
  spec.temperatures = plan.temperatures;
  spec.set(plan);
  spec.schedule.exchange = config.exchange;
  spec.schedule.houdayer = config.houdayer;
  spec.staggered =
      measures_staggered(config.staggered, config.model, nullptr, "sampling.staggered");
  spec.warm_up = plan.warm_up;
  spec.equilibrate = plan.equilibrate;
  spec.measure = plan.discard + plan.measure;
  spec.every = plan.every;
  return spec;
}

}  // namespace rewise

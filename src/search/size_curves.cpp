#include "src/search/size_curves.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "src/base/constants.hpp"
#include "src/results/observable_groups.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

// A single graph has no spread: its values have no error.
std::vector<Value> values_of(const JackknifeCurve& curve, bool with_errors) {
  std::vector<Value> values;
  for (Eigen::Index k = 0; k < curve.value.size(); ++k) {
    values.push_back(with_errors ? curve.at(k) : Value{curve.value(k), kNaN});
  }
  return values;
}

// Averages over graphs of a quantity per graph and temperature.
std::vector<Value> means_over_graphs(const SizeData& size, Eigen::ArrayXd GraphSample::*number) {
  std::vector<Value> means;
  for (std::size_t t = 0; t < size.plan.temperatures.size(); ++t) {
    std::vector<double> values;
    for (const auto& graph : size.samples.graphs) {
      values.push_back((graph.*number)(static_cast<Eigen::Index>(t)));
    }
    means.push_back(mean_and_error(values));
  }
  return means;
}

// Adds values at every temperature, [T][observable], or nothing if any temperature has none.
void add_at_temperatures(std::span<const std::string_view> names,
                         const std::vector<std::vector<Value>>& at, SizeCurves& curves) {
  for (const auto& values : at) {
    if (values.empty()) return;
  }
  for (std::size_t k = 0; k < names.size(); ++k) {
    std::vector<Value>& curve = curves.values[std::string(names[k])];
    for (const auto& values : at) curve.push_back(values[k]);
  }
}

template <class Observables>
std::vector<std::string_view> names_of(const Observables& all) {
  std::vector<std::string_view> names;
  for (const auto& o : all) names.push_back(o.name);
  return names;
}

// [T][overlap_observables()], or nothing if any graph has no overlaps.
std::vector<std::vector<Value>> overlaps_over_graphs(const SizeData& size) {
  const auto& graphs = size.samples.graphs;
  std::vector<std::vector<Value>> at;
  for (std::size_t t = 0; t < size.plan.temperatures.size(); ++t) {
    OverlapRows rows(static_cast<Eigen::Index>(graphs.size()),
                     static_cast<Eigen::Index>(kOverlapMomentCount));
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      if (graphs[g].overlaps.rows() == 0) return {{}};
      rows.row(static_cast<Eigen::Index>(g)) = graphs[g].overlaps.row(static_cast<Eigen::Index>(t));
    }
    at.push_back(overlap_values(rows, size.samples.sites));
  }
  return at;
}

// tau_int of q^2, averaged over graphs. If the value of any graph is only a lower bound, so is the
// average, and its error is NaN.
std::vector<Value> overlap_taus(const SizeData& size) {
  const auto& graphs = size.samples.graphs;
  std::vector<Value> taus;
  for (std::size_t t = 0; t < size.plan.temperatures.size(); ++t) {
    std::vector<double> values;
    bool known = true;
    for (const GraphSample& graph : graphs) {
      if (t >= graph.overlap_tau.size()) return {};
      values.push_back(graph.overlap_tau[t].value);
      known = known && std::isfinite(graph.overlap_tau[t].error);
    }
    taus.push_back(mean_and_error(values));
    if (graphs.size() == 1) taus.back() = graphs.front().overlap_tau[t];
    if (!known) taus.back().error = kNaN;
  }
  return taus;
}

}  // namespace

SizeData empty_size(const std::vector<std::uint32_t>& extents, std::uint32_t graphs) {
  SizeData size;
  size.extents = extents;
  size.first_graphs = graphs;
  size.samples.sites = site_count(extents);
  return size;
}

std::optional<ExchangeMeans> exchange_means(const SizeData& size) {
  const std::size_t temperatures = size.plan.temperatures.size();
  ExchangeMeans means;
  std::vector<std::vector<double>> accepted(temperatures);
  std::vector<double> trips;
  for (const GraphSample& graph : size.samples.graphs) {
    if (!graph.exchange || graph.exchange->accepted.size() + 1 != temperatures) return {};
    for (std::size_t t = 0; t + 1 < temperatures; ++t) {
      accepted[t].push_back(graph.exchange->accepted[t]);
    }
    means.round_trips += graph.exchange->round_trips;
    trips.push_back(graph.exchange->trips_per_1000);
  }
  if (trips.empty()) return {};
  for (std::size_t t = 0; t + 1 < temperatures; ++t) {
    means.accepted.push_back(mean_and_error(accepted[t]));
  }
  means.accepted.push_back({kNaN, kNaN});
  means.trips_per_1000 = mean_and_error(trips);
  return means;
}

namespace {

// Adds tau_int of q^2 and the fraction of accepted exchanges.
void add_exchange(const SizeData& size, SizeCurves& curves) {
  std::vector<Value> taus = overlap_taus(size);
  if (!taus.empty()) curves.values["overlap_tau"] = std::move(taus);
  if (auto exchange = exchange_means(size)) {
    curves.values["exchange_accepted"] = std::move(exchange->accepted);
  }
}

}  // namespace

JackknifeCurve fine_curve(int sample, const SizeSamples& samples, const MomentFunction& f) {
  return curve_over_graphs(sample, fine_grid_table(samples), f, controls(samples));
}

Eigen::ArrayXd thermal_variance(const SizeData& size, const Observable& observable) {
  const MomentTable table = simulated_table(size.samples, size.plan.temperatures);
  const MomentTable noise = simulated_thermal_noise_table(size.samples, size.plan.temperatures);
  const ControlVariates known = controls(size.samples);
  const JackknifeCurve curve =
      changed_curve(0, table, noise, observable.value, known, ControlTest::temperature);
  return (curve.left_out.rowwise() - curve.value.transpose()).square().colwise().sum();
}

std::string size_text(const SizeData& size) {
  return size.extents.empty() ? size.name : extents_text(size.extents);
}

Value SizeCurves::at(std::string_view name, std::size_t temperature) const {
  const auto found = values.find(name);
  return found == values.end() ? Value{kNaN, kNaN} : found->second[temperature];
}

SizeCurves simulated_curves(const SizeData& size) {
  SizeCurves curves;
  curves.temperatures = size.plan.temperatures;
  const MomentTable table = simulated_table(size.samples, size.plan.temperatures);
  const ControlVariates known = controls(size.samples);
  const bool several = size.samples.graphs.size() > 1;
  const double factor = std::pow(size.samples.sites, size.samples.m2_power - 0.5);
  const auto add = [&](std::string name, const JackknifeCurve& curve) {
    std::vector<Value>& values = curves.values[name] = values_of(curve, several);
    if (!name.starts_with("scaled_m2")) return;
    for (Value& v : values) v = {v.value * factor, v.error * factor};
  };
  for (const Observable& o : observables()) {
    const std::vector<bool> taken = controls_taken(table, o.value, known, ControlTest::temperature);
    if (std::ranges::count(taken, true) > 0) curves.controls = known.names;
    add(std::string(o.name), curve_over_graphs(0, table, o.value, known, ControlTest::temperature));
    add(fmt::format("{}_plain", o.name), curve_over_graphs(0, table, o.value));
  }
  const MomentTable staggered = staggered_table(size.samples, size.plan.temperatures);
  if (staggered.temperature.size() > 0) {
    for (const Observable& o : staggered_observables()) {
      add(std::string(o.name), curve_over_graphs(0, staggered, o.value));
    }
  }
  if (size.samples.graphs.front().in_field) {
    for (const Observable& o : field_observables()) {  // without control variates, as for m_s
      add(std::string(o.name), curve_over_graphs(0, table, o.value));
    }
  }
  curves.values["cluster_fraction"] = means_over_graphs(size, &GraphSample::cluster_fraction);
  curves.values["tau"] = means_over_graphs(size, &GraphSample::tau);
  add_at_temperatures(names_of(overlap_observables()), overlaps_over_graphs(size), curves);
  add_exchange(size, curves);
  return curves;
}

HotColdTest compare_halves(const SizeData& size) {
  std::vector<HotColdDifference> graphs;
  for (const auto& graph : size.samples.graphs) graphs.push_back(graph.halves);
  return compare_halves(graphs);
}

double longest_tau(const SizeData& size) {
  double longest = 0;
  for (std::size_t t = 0; t < size.plan.temperatures.size(); ++t) {
    std::vector<double> values;
    for (const auto& graph : size.samples.graphs) {
      const auto at = static_cast<Eigen::Index>(t);
      if (at < graph.tau.size() && std::isfinite(graph.tau(at))) values.push_back(graph.tau(at));
    }
    if (!values.empty()) longest = std::max(longest, mean_and_error(values).value);
  }
  return longest;
}

std::uint64_t measurements_to_drop(const SizeData& size) {
  const SizePlan& plan = size.plan;
  // Equilibration by a warm-up is checked elsewhere; its cycles are not those of the schedule.
  if (plan.warm_up.cycles > 0 && plan.equilibrate == 0) return 0;
  const auto every = static_cast<double>(plan.every);
  const double dropped =
      static_cast<double>(plan.equilibrate) + static_cast<double>(plan.discard) * every;
  const double wanted = kMinTaus * longest_tau(size);
  return dropped >= wanted ? 0 : static_cast<std::uint64_t>(std::ceil((wanted - dropped) / every));
}

std::string on_graphs(const SizeData& size, const std::vector<std::size_t>& graphs) {
  constexpr std::size_t most = 3;
  const auto& all = size.samples.graphs;
  if (graphs.empty() || all.size() == 1) return "";
  if (graphs.size() == all.size()) return fmt::format(" on all {} graphs", all.size());
  std::vector<std::uint64_t> seeds;
  for (std::size_t k = 0; k < std::min(most, graphs.size()); ++k) {
    seeds.push_back(all[graphs[k]].seed);
  }
  return fmt::format(" on {} of {} graphs (graph seed{} {}{})", graphs.size(), all.size(),
                     seeds.size() == 1 ? "" : "s", fmt::join(seeds, ", "),
                     graphs.size() > most ? ", .." : "");
}

std::string differing_starts(const HotColdTest& halves) {
  return fmt::format("replicas that started hot and cold differ in {} by {:.1f} standard errors",
                     halves.observable, std::abs(halves.worst_z));
}

std::string differing_starts(const SizeData& size, const HotColdTest& halves) {
  std::vector<std::size_t> differing;  // graphs whose halves differ by themselves
  for (std::size_t g = 0; g < size.samples.graphs.size(); ++g) {
    if (!compare_halves(std::span(&size.samples.graphs[g].halves, 1)).agree) differing.push_back(g);
  }
  return differing_starts(halves) + on_graphs(size, differing);
}

std::string too_few_graphs(const std::vector<SizeData>& sizes) {
  std::size_t fewest = sizes.empty() ? 0 : sizes.front().samples.graphs.size();
  for (const SizeData& size : sizes) fewest = std::min(fewest, size.samples.graphs.size());
  if (fewest >= kMinGraphs) return "";
  return fmt::format(
      "{} graphs per size do not determine their spread: at least {} are needed "
      "(lattice.graphs)",
      fewest, kMinGraphs);
}

std::string equilibrium_cure(const StudyConfig& config) {
  const std::string_view exchange =
      config.model.is_ferromagnet() || config.exchange ? "" : ", or use exchange = true";
  if (!config.equilibrate) return fmt::format("raise sampling.measure{}", exchange);
  return fmt::format("raise sampling.equilibrate{}",
                     config.model.is_ferromagnet() ? ", or set it to \"auto\"" : exchange);
}

std::string equilibrium_warning(const StudyConfig& config, const SizeData& size) {
  if (measurements_to_drop(size) == 0) return "";
  const std::uint64_t cycles = size.plan.equilibrate + size.plan.discard * size.plan.every;
  return fmt::format("{}: {} cycles of equilibration are only {:.1f} tau_int of m^2; {}",
                     size_text(size), cycles, static_cast<double>(cycles) / longest_tau(size),
                     equilibrium_cure(config));
}

SizeCurves curves_of_one_graph(const SizeData& size) {
  SizeCurves curves;
  for (const TemperatureResult& at : size.single) {
    curves.temperatures.push_back(at.temperature);
    for (const ObservableGroup& group : observable_groups()) {
      if (!group.object.empty()) continue;
      for (const ObservableInfo& o : group.observables) {
        const auto value = at.values.find(o.name);
        if (value == at.values.end()) continue;
        const std::string name(o.name);
        curves.values[name].push_back(value->second);
        if (group.name.empty()) curves.values[name + "_plain"].push_back(value->second);
      }
    }
    Value slowest = at.tau.at("m2");  // as tau_of_order()
    for (const char* name : {"staggered_m2", "magnetisation"}) {
      const auto tau = at.tau.find(name);
      if (tau != at.tau.end() && tau->second.value > slowest.value) slowest = tau->second;
    }
    curves.values["tau"].push_back(slowest);
  }
  add_exchange(size, curves);
  return curves;
}

}  // namespace rewise

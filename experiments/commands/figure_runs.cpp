#include "experiments/commands/figure_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/series/jackknife.hpp"
#include "graphs/graph.hpp"
#include "src/search/tc_analysis.hpp"
#include "src/study/parse.hpp"
#include "src/study/task_results.hpp"

namespace rewise {
namespace {

using Results = std::vector<std::vector<TemperatureResult>>;  // [graph][temperature]

TaskSpec moments_task(const FigureRun& run, const std::vector<std::uint32_t>& extents, double p,
                      std::uint32_t graph) {
  TaskSpec task;
  task.graph.extents = extents;
  task.graph.p = p;
  task.graph.rule = run.spec.rule;
  task.graph.seed = run.spec.graph_seed + graph;
  task.engine = run.spec.engine;
  task.local = run.spec.mixes.front().local;
  task.cluster = run.spec.mixes.front().cluster;
  task.schedule = run.spec.mixes.front().schedule;
  task.temperatures = run.spec.temperatures;
  task.replicas = run.spec.replicas;
  task.seed = derived_seed(run.spec.seed, fmt::format("{} {} {}", extents_text(extents), p, graph));
  task.equilibrate = run.spec.equilibrate;
  task.measure = run.spec.measure;
  return task;
}

// Mean of graphs, or the one graph's own value and error.
Value over_graphs(const Results& graphs, std::size_t t, Value (*pick)(const TemperatureResult&)) {
  if (graphs.size() == 1) return pick(graphs[0][t]);
  std::vector<double> values;
  for (const auto& graph : graphs) values.push_back(pick(graph[t]).value);
  return mean_and_error(values);
}

// 1 - [m^4]/(3 [m^2]^2)
Value binder_over_graphs(const Results& graphs, std::size_t t) {
  if (graphs.size() == 1) return graphs[0][t].of("binder");
  Eigen::ArrayXXd rows(static_cast<Eigen::Index>(graphs.size()), 2);
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    rows.row(static_cast<Eigen::Index>(g)) << graphs[g][t].of("m2").value,
        graphs[g][t].of("m4").value;
  }
  return jackknife(rows, [](const Eigen::VectorXd& mean) {
    return Eigen::VectorXd::Constant(1, 1 - mean[1] / (3 * mean[0] * mean[0]));
  })[0];
}

void add_values(Curve& curve, const std::string& name, const std::vector<Value>& values) {
  std::vector<double> value, error;
  for (const Value& v : values) {
    value.push_back(v.value);
    error.push_back(v.error);
  }
  curve.add(name, value);
  curve.add(name + "_error", error);
}

Value peak(const std::vector<double>& temperatures, const std::vector<Value>& values) {
  std::size_t best = 0;
  for (std::size_t t = 0; t < values.size(); ++t) {
    if (values[t].value > values[best].value) best = t;
  }
  const std::size_t other = best + 1 < temperatures.size() ? best + 1 : best - 1;
  return {temperatures[best], std::abs(temperatures[other] - temperatures[best]) / 2};
}

// Where the U of two sizes cross, by straight lines between temperatures: from above to below.
MetricRow crossing(const CurveKeys& keys, const std::vector<double>& temperatures,
                   const std::vector<Value>& small, const std::vector<Value>& large) {
  MetricRow row{keys, {}};
  const double nan = std::nan("");
  Value at{nan, nan}, height{nan, nan};
  double steepest = 0;
  for (std::size_t t = 0; t + 1 < temperatures.size(); ++t) {
    const double before = large[t].value - small[t].value;
    const double after = large[t + 1].value - small[t + 1].value;
    if (!(before > 0 && after <= 0) || before - after < steepest) continue;
    steepest = before - after;
    const double width = temperatures[t + 1] - temperatures[t];
    const double share = before / (before - after);
    const double noise = std::hypot(small[t].error, large[t].error);
    at = {temperatures[t] + share * width, noise * width / (before - after)};
    height = {small[t].value + share * (small[t + 1].value - small[t].value),
              std::hypot(noise, (small[t].value - small[t + 1].value) * at.error / width)};
  }
  row.add("crossing_temperature", at);
  row.add("crossing_binder", height);
  return row;
}

// All graphs of one size and p.
CurveSet moments_point(const FigureRun& run, const std::vector<std::uint32_t>& extents, double p,
                       const StopToken& stop, Progress& progress) {
  const CurveKeys keys{{"size", number_text(extents.front())}, {"p", number_text(p)}};
  const auto& temperatures = run.spec.temperatures;
  Results graphs;
  for (std::uint32_t g = 0; g < run.spec.graphs; ++g) {
    TaskRun how;
    how.engine.threads = run.spec.threads;
    how.engine.device = run.spec.device;
    how.stop = stop;
    const TaskResult result = run_task(moments_task(run, extents, p, g), std::nullopt, how);
    if (result.outcome == TaskOutcome::interrupted) check_stop(stop);
    graphs.push_back(results_of(result.data));
    progress.add(1.0 / (static_cast<double>(run.sizes.size() * run.ps.size()) * run.spec.graphs));
  }
  std::vector<Value> energy, m, heat, chi, binder;
  for (std::size_t t = 0; t < temperatures.size(); ++t) {
    using Row = const TemperatureResult&;
    energy.push_back(over_graphs(graphs, t, [](Row r) { return r.of("energy"); }));
    m.push_back(over_graphs(graphs, t, [](Row r) { return r.of("abs_magnetisation"); }));
    heat.push_back(over_graphs(graphs, t, [](Row r) { return r.of("specific_heat"); }));
    chi.push_back(over_graphs(graphs, t, [](Row r) { return r.of("susceptibility"); }));
    binder.push_back(binder_over_graphs(graphs, t));
  }
  CurveSet part;
  Curve& curve = part.table("moments").curves.emplace_back(Curve{keys, {}});
  curve.add("temperature", temperatures);
  add_values(curve, "energy", energy);
  add_values(curve, "abs_magnetisation", m);
  add_values(curve, "specific_heat", heat);
  add_values(curve, "susceptibility", chi);
  add_values(curve, "binder", binder);
  MetricRow& row = part.metrics.emplace_back(MetricRow{keys, {}});
  row.add("heat_peak_temperature", peak(temperatures, heat));
  row.add("chi_peak_temperature", peak(temperatures, chi));
  return part;
}

// Column `name` of a point's one curve, with its errors.
std::vector<Value> values_of(const Curve& curve, const std::string& name) {
  std::vector<Value> values;
  const auto column = [&](const std::string& wanted) {
    return std::find_if(curve.columns.begin(), curve.columns.end(),
                        [&](const auto& c) { return c.first == wanted; })
        ->second;
  };
  const std::vector<double> value = column(name), error = column(name + "_error");
  for (std::size_t i = 0; i < value.size(); ++i) values.push_back({value[i], error[i]});
  return values;
}

}  // namespace

CurveSet measure_moments(const FigureRun& run, const StopToken& stop, Progress& progress,
                         KeptPoints& kept) {
  CurveSet set;
  set.kind = "moments";
  set.about = spec_json(run.spec);
  const double share = 1.0 / static_cast<double>(run.sizes.size() * run.ps.size());
  for (const double p : run.ps) {
    std::vector<Value> smaller;
    for (const auto& extents : run.sizes) {
      const std::string name = fmt::format("{} p {}", extents_text(extents), number_text(p));
      const CurveSet part = kept.point(
          name, share, progress, [&] { return moments_point(run, extents, p, stop, progress); });
      append(set, part);
      const std::vector<Value> binder = values_of(part.tables.front().curves.front(), "binder");
      if (!smaller.empty()) {
        const bool last = extents == run.sizes.back();
        const CurveKeys pair{{"crossing", last ? "largest" : number_text(extents.front())},
                             {"p", number_text(p)}};
        set.metrics.push_back(crossing(pair, run.spec.temperatures, smaller, binder));
      }
      smaller = binder;
    }
  }
  return set;
}

CurveSet measure_tc(const FigureRun& run, const std::filesystem::path& folder,
                    const StopToken& stop, Progress& progress) {
  StudyConfig config;
  config.name = run.name;
  config.seed = run.spec.seed;
  config.sizes = run.sizes;
  config.p = run.ps;
  config.rule = run.spec.rule;
  config.graphs.assign(run.sizes.size(), run.spec.graphs);
  config.threads = 0;
  if (!run.spec.mixes.empty()) {
    const Mix& mix = run.spec.mixes.front();
    config.schedule = mix.schedule;
    config.schedules = {mix.schedule};
    config.cluster = mix.cluster;
  }
  check_tc_config(config, "run " + run.name);
  Progress inner(run.name, 0);
  Study study(StudyFolder(folder, config, "tc"), {run.spec.device});
  const TcResult result = analyse_tc(config, search_tc(study, stop, inner));
  study.finish_files(inner);
  inner.close();
  progress.add(1);

  CurveSet set;
  set.kind = "tc";
  set.about = spec_json(run.spec);
  std::vector<double> ps, local_p;
  std::vector<Value> shifts, exponents;
  for (const auto& point : result.points) {
    MetricRow& row = set.metrics.emplace_back(MetricRow{{{"p", number_text(point.p)}}, {}});
    row.add("tc", point.tc.total());
    row.add("shift", point.shift.value_or(Value{0, 0}));
    for (const auto& warning : point.warnings) set.notes.push_back(warning);
    if (!point.shift) continue;
    ps.push_back(point.p);
    shifts.push_back(*point.shift);
  }
  Curve& curve = set.table("shift").curves.emplace_back(Curve{{}, {}});
  curve.add("p", ps);
  add_values(curve, "shift", shifts);
  for (Eigen::Index i = 0; i < result.local.p.size(); ++i) {
    local_p.push_back(result.local.p[i]);
    exponents.push_back(result.local.exponent[i]);
  }
  Curve& local = set.table("local").curves.emplace_back(Curve{{}, {}});
  local.add("p", local_p);
  add_values(local, "exponent", exponents);
  MetricRow& row = set.metrics.emplace_back(MetricRow{{{"p", "all"}}, {}});
  const double nan = std::nan("");
  const bool law = !result.power_laws.empty() && result.power_laws.front().ok;
  row.add("exponent", law ? result.power_laws.front().exponent : Value{nan, nan});
  row.add("fit_q", {law ? result.power_laws.front().q : nan, 0});
  row.add("exponent_lowest_p", exponents.empty() ? Value{nan, nan} : exponents.front());
  row.add("exponent_highest_p", exponents.empty() ? Value{nan, nan} : exponents.back());
  return set;
}

}  // namespace rewise

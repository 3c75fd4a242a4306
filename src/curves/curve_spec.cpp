#include "src/curves/curve_spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "src/engine/registry.hpp"
#include "src/settings/parse.hpp"
#include "src/study/make_engine.hpp"
#include "src/study/study.hpp"

namespace rewise {

Updates parse_mix(std::string_view text, std::string_view origin) {
  const auto [schedule, cluster, local] = parse_updates(text, origin);
  return {schedule.value(), cluster.value_or(ClusterUpdate::wolff), local};
}

std::vector<Updates> parse_mixes(std::string_view text, std::string_view origin) {
  std::vector<Updates> mixes;
  while (true) {
    const auto comma = text.find(',');
    const Updates mix = parse_mix(text.substr(0, comma), origin);
    for (const Updates& other : mixes) {
      if (to_string(other) == to_string(mix)) given_twice(origin, to_string(mix));
    }
    mixes.push_back(mix);
    if (comma == std::string_view::npos) return mixes;
    text.remove_prefix(comma + 1);
  }
}

Json spec_json(const CurveSpec& spec) {
  Json json;
  json["lattice"] = {{"dim", spec.graph.extents.size()},
                     {"extents", spec.graph.extents},
                     {"p", spec.graph.p},
                     {"rule", to_string(spec.graph.rule)},
                     {"graph_seed", spec.graph.seed},
                     {"graphs", spec.graphs}};
  json["model"] = to_string(spec.model.kind);
  json["q"] = spec.model.q;
  json["engine"] = to_string(spec.engine);
  json["device"] = spec.device < 0 ? "cpu" : fmt::format("cuda:{}", spec.device);
  json["threads"] = spec.threads;
  json["replicas"] = spec.replicas;
  if (spec.schedule.exchange) json["exchange"] = true;
  if (spec.schedule.houdayer) json["houdayer"] = true;
  json["seed"] = spec.seed;
  return json;
}

TaskSpec with_mix(const CurveSpec& spec, const Updates& mix) {
  TaskSpec task = spec;
  task.set(mix);
  return task;
}

std::vector<Graph> curve_graphs(const CurveSpec& spec) {
  std::vector<Graph> graphs;
  GraphSpec graph = spec.graph;
  for (std::uint32_t g = 0; g < spec.graphs; ++g, ++graph.seed) {
    graphs.push_back(build_graph(graph));
  }
  return graphs;
}

std::unique_ptr<Engine> curve_engine(const CurveSpec& spec, const Graph& g, std::uint32_t graph,
                                     std::span<const double> temperatures, const Updates& mix,
                                     Start start) {
  TaskSpec task = with_mix(spec, mix);
  task.temperatures.assign(temperatures.begin(), temperatures.end());
  task.seed =
      derived_seed(spec.seed, fmt::format("graph {} T {}", graph, fmt::join(temperatures, " ")));
  // Equal random numbers would make both starts identical even before equilibrium.
  if (start == Start::hot) task.seed = derived_seed(task.seed, "hot");
  task.start = start;
  EngineOptions options;
  options.threads = spec.threads;
  options.device = spec.device;
  return make_engine(spec.engine, g, engine_spec(task), options);
}

void warm_up(Engine& engine, const Schedule& schedule, const EngineState& start) {
  engine.advance(schedule, 1);
  Observation seen;
  engine.measure(seen);
  engine.restore(start);
}

int curve_threads(const CurveSpec& spec, int available) {
  TaskSpec task = spec;
  if (!spec.schedule.exchange) task.temperatures.resize(1);
  return useful_threads(task, available);
}

Eigen::ArrayXd as_array(const std::vector<std::uint64_t>& numbers) {
  const Eigen::Map<const Eigen::Array<std::uint64_t, Eigen::Dynamic, 1>> whole(numbers.data(),
                                                                               std::ssize(numbers));
  return whole.cast<double>();
}

std::vector<std::uint64_t> step_grid(std::uint64_t last, std::uint64_t points, bool linear) {
  std::vector<std::uint64_t> grid;
  const auto n = static_cast<double>(std::min(points, last));
  for (double i = 1; i <= n; ++i) {
    const double x = linear || points >= last || n == 1
                         ? static_cast<double>(last) * i / n
                         : std::pow(static_cast<double>(last), (i - 1) / (n - 1));
    const auto step = static_cast<std::uint64_t>(std::llround(x));
    if (grid.empty() || step > grid.back()) grid.push_back(step);
  }
  return grid;
}

void Stepper::to(std::uint64_t step) {
  const std::uint64_t cycle = schedule_.updates_per_cycle();
  while (done_ < step) {
    const std::uint64_t at = done_ % cycle, left = step - done_;
    if (at == 0 && left >= cycle) {
      engine_.advance(schedule_, left / cycle);
      done_ += left / cycle * cycle;
      continue;
    }
    const bool local = at < schedule_.local;
    const auto count =
        static_cast<std::uint32_t>(std::min(left, (local ? schedule_.local : cycle) - at));
    Schedule part = local ? Schedule{count, 0} : Schedule{0, count};
    const bool ends = at + count == cycle;
    part.exchange = schedule_.exchange && ends;
    part.houdayer = schedule_.houdayer && ends;
    engine_.advance(part, 1);
    done_ += count;
  }
}

StepCost step_cost(const WorkCounters& before, const WorkCounters& after, std::uint64_t sites) {
  StepCost cost;
  const auto sweeps = static_cast<double>(after.local_attempts - before.local_attempts) /
                      static_cast<double>(sites);
  const auto updates = static_cast<double>(after.cluster_updates - before.cluster_updates);
  if (sweeps > 0) cost.local = (after.local_seconds - before.local_seconds) / sweeps;
  if (updates > 0) cost.cluster = (after.cluster_seconds - before.cluster_seconds) / updates;
  return cost;
}

double seconds_of(const StepCost& cost, const Schedule& schedule, std::uint64_t steps) {
  const std::uint64_t cycle = schedule.updates_per_cycle();
  const std::uint64_t rest = steps % cycle;
  const double exchanges = schedule.closing_steps() > 0 ? static_cast<double>(steps / cycle) : 0;
  const auto local = static_cast<double>(steps / cycle * schedule.local +
                                         std::min<std::uint64_t>(rest, schedule.local));
  return local * cost.local + (static_cast<double>(steps) - local) * cost.cluster +
         exchanges * cost.exchange;
}

void check_stop(const StopToken& stop) { stop.check("; unfinished curves are lost"); }

CurveKeys curve_keys(double temperature, const Updates& mix) {
  return {{"temperature", number_text(temperature)}, {"schedule", to_string(mix)}};
}

}  // namespace rewise

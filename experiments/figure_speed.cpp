#include "experiments/figure_speed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "experiments/options.hpp"
#include "graphs/graph.hpp"
#include "src/single/single.hpp"

namespace rewise {
namespace {

constexpr double kEnough = 1;  // second of updates
constexpr std::uint64_t kLeast = 8;

struct UpdateTimes {
  std::vector<double> alone, measured;  // [update] microseconds per replica
  std::vector<double> fraction;         // [update] mean cluster over N
};

// A system in equilibrium, by Swendsen-Wang updates of `spec`'s engine: about the only way to a
// large lattice's, and a processor takes over what a device has made.
EngineState equilibrium(const CurveSpec& spec, const Graph& graph, double temperature,
                        const StopToken& stop) {
  const Mix mix{{}, ClusterUpdate::swendsen_wang, {0, 1}};
  const auto engine = curve_engine(spec, graph, 0, temperature, mix, Start::cold);
  for (std::uint64_t c = 0; c < spec.equilibrate; ++c) {
    check_stop(stop);
    engine->advance(mix.schedule, 1);
  }
  Observation seen;
  engine->measure(seen);  // leaves no cluster sums, which another update would not take
  return engine->save();
}

std::unique_ptr<Engine> wolff_engine(const CurveSpec& spec, const Graph& graph, double temperature,
                                     const std::string& method) {
  if (method.empty()) return curve_engine(spec, graph, 0, temperature, Mix{}, Start::cold);
  EngineSpec engine;
  engine.betas = {1 / temperature};
  engine.replicas = spec.replicas;
  engine.seed = curve_seed(spec, 0, temperature);
  engine.start = Start::cold;
  EngineOptions options;
  options.threads = spec.threads;
  options.device = spec.device;
  options.wolff_method = method;
  return make_single_engine(graph, engine, options);
}

UpdateTimes time_updates(const CurveSpec& spec, const Graph& graph, double temperature,
                         const std::string& method, const EngineState& start, std::uint64_t updates,
                         const StopToken& stop) {
  const auto engine = wolff_engine(spec, graph, temperature, method);
  engine->restore(start);
  UpdateTimes times;
  Observation seen;
  double spent = 0;
  Work before = engine->work();
  for (std::uint64_t u = 0; u < updates && (u < kLeast || spent < kEnough); ++u) {
    check_stop(stop);
    engine->advance({0, 1}, 1);
    engine->measure(seen);
    const Work after = engine->work();
    const double cluster = after.cluster_seconds - before.cluster_seconds;
    const double measure = after.measure_seconds - before.measure_seconds;
    times.alone.push_back(1e6 * cluster / spec.replicas);
    times.measured.push_back(1e6 * (cluster + measure) / spec.replicas);
    times.fraction.push_back(static_cast<double>(after.cluster_sites - before.cluster_sites) /
                             spec.replicas / static_cast<double>(spec.sites()));
    spent += cluster + measure;
    before = after;
  }
  return times;
}

// The mean; its error from stretches of the updates, since clusters are correlated in time. The
// first update warms up: it is left out where there are enough.
Value mean_time(const std::vector<double>& all) {
  const std::size_t skip = all.size() > kLeast ? 1 : 0, stretches = kLeast;
  const std::size_t length = (all.size() - skip) / stretches;
  std::vector<double> means(stretches, 0.0);
  for (std::size_t i = 0; i < stretches * length; ++i) {
    means[i / length] += all[skip + i] / static_cast<double>(length);
  }
  return mean_and_error(means);
}

Value ratio(Value a, Value b) {
  const double r = a.value / b.value;
  return {r, std::abs(r) * std::hypot(a.error / a.value, b.error / b.value)};
}

// The shorter of both sides' times, update by update.
Value hybrid(const UpdateTimes& core, const UpdateTimes& fast) {
  std::vector<double> least;
  for (std::size_t i = 0; i < std::min(core.alone.size(), fast.alone.size()); ++i) {
    least.push_back(std::min(core.alone[i], fast.alone[i]));
  }
  return mean_time(least);
}

// The GPU's time over the same updates as hybrid(): what it is to be compared with.
Value over_the_same(const UpdateTimes& core, const UpdateTimes& fast) {
  const std::size_t n = std::min(core.alone.size(), fast.alone.size());
  return mean_time({fast.alone.begin(), fast.alone.begin() + static_cast<std::ptrdiff_t>(n)});
}

// One core, and the accelerated side beside it.
struct Sides {
  CurveSpec core, fast;
  std::vector<std::string> methods;  // of the accelerated side; "" is its default
};

Sides sides_of(const FigureRun& run) {
  const bool gpu = run.spec.device >= 0;
  Sides sides{run.spec, run.spec, run.methods};
  sides.core.engine = "single";
  sides.core.device = -1;
  sides.core.threads = sides.fast.threads = 1;
  sides.core.replicas = 1;
  sides.fast.engine = gpu ? "single" : "bundle";
  sides.fast.replicas = gpu ? 1 : 32;
  if (sides.methods.empty()) sides.methods = {""};
  return sides;
}

CurveSet speed_point(const FigureRun& run, const Graph& graph, const Sides& sides,
                     double temperature, const StopToken& stop) {
  const bool gpu = run.spec.device >= 0, named = !run.methods.empty();
  const std::string size = fmt::format("{}", sides.core.extents.front());
  const EngineState start = equilibrium(sides.fast, graph, temperature, stop);
  const EngineState alone = gpu ? start : equilibrium(sides.core, graph, temperature, stop);
  const UpdateTimes slow =
      time_updates(sides.core, graph, temperature, "", alone, run.spec.measure, stop);
  CurveSet part;
  for (const std::string& method : sides.methods) {
    UpdateTimes quick;
    if (gpu) {
      quick = time_updates(sides.fast, graph, temperature, method, start, run.spec.measure, stop);
    } else if (!named) {
      quick = time_updates(sides.fast, graph, temperature, "", start,
                           std::max(run.spec.measure / 8, kLeast), stop);
    }
    const Value none{std::nan(""), std::nan("")};
    const bool timed = !quick.alone.empty();
    const Value core = mean_time(slow.alone), core_measured = mean_time(slow.measured);
    const Value fast = timed ? mean_time(quick.alone) : none;
    const Value fast_measured = timed ? mean_time(quick.measured) : none;
    std::vector<std::pair<std::string, Value>> columns{
        {"core_us", core},
        {"core_us_measured", core_measured},
        {"fast_us", fast},
        {"fast_us_measured", fast_measured},
        {"acceleration", ratio(core, fast)},
        {"acceleration_measured", ratio(core_measured, fast_measured)},
        {"cluster_fraction", mean_time(slow.fraction)}};
    if (named) {
      columns.emplace_back("hybrid_us", timed ? hybrid(slow, quick) : none);
      columns.emplace_back("hybrid_share",
                           timed ? ratio(hybrid(slow, quick), over_the_same(slow, quick)) : none);
    }
    CurveKeys by_size{{"temperature", number_text(temperature)}}, by_temperature{{"size", size}};
    if (named) by_size.emplace_back("method", method);
    if (named) by_temperature.emplace_back("method", method);
    CurveKeys all = by_temperature;
    all.emplace_back("temperature", number_text(temperature));
    Curve& speed = part.table("speed").curve(by_temperature);
    speed.append("temperature", temperature);
    Curve& sizes = part.table("by_size").curve(by_size);
    sizes.append("size", sides.core.extents.front());
    MetricRow& metrics = part.metrics.emplace_back(MetricRow{all, {}});
    for (const auto& [name, value] : columns) {
      for (Curve* curve : {&speed, &sizes}) {
        curve->append(name, value.value);
        curve->append(name + "_error", value.error);
      }
      metrics.add(name, value);
    }
  }
  return part;
}

}  // namespace

CurveSet measure_speed(const FigureRun& run, const StopToken& stop, Progress& progress,
                       KeptPoints& kept) {
  Sides sides = sides_of(run);
  CurveSet set;
  set.kind = "speed";
  set.about = spec_json(sides.fast);
  set.notes.push_back(run.spec.device >= 0 ? "accelerated: the single engine on CUDA"
                      : run.methods.empty()
                          ? "accelerated: no CUDA device here, so 32 systems a word on one core"
                          : "no CUDA device here: its methods were not timed");
  const double share = 1.0 / static_cast<double>(run.sizes.size() * run.spec.temperatures.size());
  for (const auto& extents : run.sizes) {
    sides.core.extents = sides.fast.extents = extents;
    const Graph graph = build_graph(graph_spec(sides.core, 0));
    for (const double t : run.spec.temperatures) {
      const std::string name = fmt::format("{} T {}", extents_text(extents), number_text(t));
      append(set, kept.point(name, share, progress, [&] {
        const CurveSet part = speed_point(run, graph, sides, t, stop);
        progress.add(share);
        return part;
      }));
    }
  }
  return set;
}

}  // namespace rewise

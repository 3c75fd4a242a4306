#include "experiments/commands/figure_speed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "analysis/series/jackknife.hpp"
#include "graphs/graph.hpp"
#include "src/curves/timing.hpp"
#include "src/study/engines.hpp"
#include "src/study/parse.hpp"

namespace rewise {
namespace {

constexpr double kEnough = 0.5;  // seconds of updates, of the first repeat
constexpr std::uint64_t kLeast = 8;
constexpr std::size_t kRepeats = 3;  // of the same updates

// `alone`, `measured`: medians over the repeats of the same moves; the means of each repeat beside.
struct UpdateTimes {
  std::vector<double> alone, measured;              // [update] microseconds per replica
  std::vector<double> fraction;                     // [update] mean cluster over N
  std::vector<double> alone_means, measured_means;  // [repeat]
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
                                     WolffMethod method) {
  if (method == WolffMethod::automatic)
    return curve_engine(spec, graph, 0, temperature, Mix{}, Start::cold);
  EngineSpec engine;
  engine.betas = {1 / temperature};
  engine.replicas = spec.replicas;
  engine.seed = curve_seed(spec, 0, temperature);
  engine.start = Start::cold;
  EngineOptions options;
  options.threads = spec.threads;
  options.device = spec.device;
  options.wolff_method = method;
  return make_engine(engine_with(&EngineTraits::methods), graph, engine, options);
}

// One repeat: at most `updates` updates from `start`, as many as kEnough has time for.
UpdateTimes repeat_updates(Engine& engine, const CurveSpec& spec, const EngineState& start,
                           std::uint64_t updates, double enough, const StopToken& stop) {
  engine.restore(start);
  UpdateTimes times;
  Observation seen;
  double spent = 0;
  Work before = engine.work();
  for (std::uint64_t u = 0; u < updates && (u < kLeast || spent < enough); ++u) {
    check_stop(stop);
    engine.advance({0, 1}, 1);
    engine.measure(seen);
    const Work after = engine.work();
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

double mean_of(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

UpdateTimes time_updates(const CurveSpec& spec, const Graph& graph, double temperature,
                         WolffMethod method, const EngineState& start, std::uint64_t updates,
                         const StopToken& stop) {
  const auto engine = wolff_engine(spec, graph, temperature, method);
  std::vector<UpdateTimes> repeats{repeat_updates(*engine, spec, start, updates, kEnough, stop)};
  const std::uint64_t count = repeats.front().alone.size();
  while (repeats.size() < kRepeats) {
    repeats.push_back(
        repeat_updates(*engine, spec, start, count, std::numeric_limits<double>::infinity(), stop));
  }
  UpdateTimes times = repeats.front();
  const auto median = [&](std::vector<double> UpdateTimes::*series, std::size_t update) {
    std::vector<double> all;
    for (const UpdateTimes& repeat : repeats) all.push_back((repeat.*series)[update]);
    return timing_of(std::move(all)).median.value;
  };
  for (std::size_t u = 0; u < count; ++u) {
    times.alone[u] = median(&UpdateTimes::alone, u);
    times.measured[u] = median(&UpdateTimes::measured, u);
  }
  for (const UpdateTimes& repeat : repeats) {
    times.alone_means.push_back(mean_of(repeat.alone));
    times.measured_means.push_back(mean_of(repeat.measured));
  }
  return times;
}

using Series = std::vector<double>;

// The first update warms up: it is left out where there are enough.
std::size_t skipped(std::size_t updates) { return updates > kLeast ? 1 : 0; }

// Means of stretches of a series: clusters are correlated in time.
Series stretches(const Series& all, std::size_t updates) {
  const std::size_t skip = skipped(updates), length = (updates - skip) / kLeast;
  Series means(kLeast, 0.0);
  for (std::size_t i = 0; i < kLeast * length; ++i) {
    means[i / length] += all[skip + i] / static_cast<double>(length);
  }
  return means;
}

Value mean_time(const Series& all) { return mean_and_error(stretches(all, all.size())); }

// Of two series over the updates that both have: mean over mean, error by jackknife over stretches.
Value ratio(const Series& a, const Series& b) {
  const std::size_t updates = std::min(a.size(), b.size());
  const Series above = stretches(a, updates), below = stretches(b, updates);
  Eigen::ArrayXXd rows(static_cast<Eigen::Index>(kLeast), 2);
  for (std::size_t k = 0; k < kLeast; ++k) {
    rows.row(static_cast<Eigen::Index>(k)) << above[k], below[k];
  }
  return jackknife(rows, [](const Eigen::VectorXd& mean) {
    return Eigen::VectorXd::Constant(1, mean[0] / mean[1]);
  })[0];
}

Value product(Value a, Value b) {
  return {a.value * b.value, std::hypot(a.error * b.value, a.value * b.error)};
}

// The shorter of both sides' times, update by update.
Series hybrid(const UpdateTimes& core, const UpdateTimes& fast) {
  Series least;
  for (std::size_t i = 0; i < std::min(core.alone.size(), fast.alone.size()); ++i) {
    least.push_back(std::min(core.alone[i], fast.alone[i]));
  }
  return least;
}

// One core, and the accelerated side beside it.
struct SpeedSides {
  CurveSpec core, fast;
  std::vector<WolffMethod> methods;  // of the accelerated side
};

SpeedSides sides_of(const FigureRun& run) {
  const bool gpu = run.spec.device >= 0;
  SpeedSides sides{run.spec, run.spec, run.wolffs};
  sides.core.engine = engine_with(&EngineTraits::methods);
  sides.core.device = -1;
  sides.core.threads = sides.fast.threads = 1;
  sides.core.replicas = 1;
  sides.fast.engine = gpu ? sides.core.engine : engine_with(&EngineTraits::batches);
  sides.fast.replicas = gpu ? 1 : 32;
  if (sides.methods.empty()) sides.methods = {WolffMethod::automatic};
  return sides;
}

using Columns = std::vector<std::pair<std::string, Timing>>;

// A number without repeats.
Timing plain(Value v) { return {v, v.value, v.value}; }

// A time with the range of its repeats, which is that of their means over the mean of the medians.
Timing ranged(Value time, const std::vector<double>& repeats, const Series& medians) {
  const auto [least, most] = std::minmax_element(repeats.begin(), repeats.end());
  const double unit = time.value / mean_of(medians);
  return {time, std::min(time.value, *least * unit), std::max(time.value, *most * unit)};
}

// `same`: both sides made the same moves. The core, which makes fewer of them, is then timed per
// flipped site and told for the mean cluster of the longer series.
Columns both_sides(const UpdateTimes& core, const UpdateTimes& fast, bool same, bool with_hybrid) {
  const bool longer = same && fast.fraction.size() > core.fraction.size();
  const Value fraction = mean_time(longer ? fast.fraction : core.fraction);
  const auto of_core = [&](const Series& series) {
    return longer ? product(ratio(series, core.fraction), fraction) : mean_time(series);
  };
  const Timing slow = ranged(of_core(core.alone), core.alone_means, core.alone);
  const Timing slow_measured = ranged(of_core(core.measured), core.measured_means, core.measured);
  const Timing quick = ranged(mean_time(fast.alone), fast.alone_means, fast.alone);
  const Timing quick_measured =
      ranged(mean_time(fast.measured), fast.measured_means, fast.measured);
  Columns columns{{"core_us", slow},
                  {"core_us_measured", slow_measured},
                  {"fast_us", quick},
                  {"fast_us_measured", quick_measured},
                  {"acceleration", quotient(slow, quick)},
                  {"acceleration_measured", quotient(slow_measured, quick_measured)},
                  {"cluster_fraction", plain(fraction)}};
  if (with_hybrid) {
    columns.emplace_back("hybrid_share", plain(ratio(hybrid(core, fast), fast.alone)));
  }
  return columns;
}

// Without the device whose methods are asked for.
Columns one_side(const UpdateTimes& core) {
  const Timing none = plain({std::nan(""), std::nan("")});
  return {
      {"core_us", ranged(mean_time(core.alone), core.alone_means, core.alone)},
      {"core_us_measured", ranged(mean_time(core.measured), core.measured_means, core.measured)},
      {"fast_us", none},
      {"fast_us_measured", none},
      {"acceleration", none},
      {"acceleration_measured", none},
      {"cluster_fraction", plain(mean_time(core.fraction))},
      {"hybrid_share", none}};
}

CurveSet speed_point(const FigureRun& run, const Graph& graph, const SpeedSides& sides,
                     double temperature, const StopToken& stop) {
  const bool gpu = run.spec.device >= 0, named = !run.wolffs.empty();
  const std::string size = fmt::format("{}", sides.core.extents.front());
  const EngineState start = equilibrium(sides.fast, graph, temperature, stop);
  const EngineState alone = gpu ? start : equilibrium(sides.core, graph, temperature, stop);
  const UpdateTimes slow = time_updates(sides.core, graph, temperature, WolffMethod::automatic,
                                        alone, run.spec.measure, stop);
  CurveSet part;
  for (const WolffMethod method : sides.methods) {
    UpdateTimes quick;
    if (gpu) {
      quick = time_updates(sides.fast, graph, temperature, method, start, run.spec.measure, stop);
    } else if (!named) {
      quick = time_updates(sides.fast, graph, temperature, WolffMethod::automatic, start,
                           std::max(run.spec.measure / 8, kLeast), stop);
    }
    const Columns columns = gpu || !named ? both_sides(slow, quick, gpu, named) : one_side(slow);
    CurveKeys by_size{{"temperature", number_text(temperature)}}, by_temperature{{"size", size}};
    if (named) by_size.emplace_back("method", to_string(method));
    if (named) by_temperature.emplace_back("method", to_string(method));
    CurveKeys all = by_temperature;
    all.emplace_back("temperature", number_text(temperature));
    Curve& speed = part.table("speed").curve(by_temperature);
    speed.append("temperature", temperature);
    Curve& sizes = part.table("by_size").curve(by_size);
    sizes.append("size", sides.core.extents.front());
    MetricRow& metrics = part.metrics.emplace_back(MetricRow{all, {}});
    for (const auto& [name, timing] : columns) {
      append(speed, name, timing);
      append(sizes, name, timing);
      metrics.add(name, timing.median);
    }
  }
  return part;
}

}  // namespace

CurveSet measure_speed(const FigureRun& run, const StopToken& stop, Progress& progress,
                       KeptPoints& kept) {
  SpeedSides sides = sides_of(run);
  CurveSet set;
  set.kind = "speed";
  set.about = spec_json(sides.fast);
  set.notes.push_back(kTimingNote);
  set.notes.push_back(run.spec.device >= 0 ? "accelerated: the bytespin engine on CUDA"
                      : run.wolffs.empty()
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

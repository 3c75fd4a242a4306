#include "src/curves/decorrelate.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <future>
#include <limits>
#include <memory>
#include <set>

#include "analysis/series/correlation_curve.hpp"
#include "graphs/graph.hpp"
#include "src/curves/snapshot.hpp"
#include "src/curves/timing.hpp"

namespace rewise {
namespace {

constexpr Eigen::Index kMostLags = 100;

// Comparisons of configurations that run on the CPU while a CUDA device continues. With a CPU
// engine they would distort the measured times.
constexpr std::size_t kInFlight = 8;

// Results of one mix at one temperature before averaging.
struct Sums {
  Eigen::ArrayXXd correlation, abs_correlation;  // [graph and replica, lag]
  RealSeries energy, abs_m, m2;        // [cycle, graph and replica], minus the mean of the graph
  std::vector<double> local, cluster;  // seconds per step in each stretch
};

class Follower {
 public:
  Follower(const CurveSpec& spec, const Mix& mix)
      : spec_(spec), mix_(mix), lags_(step_grid(spec.steps, spec.points, spec.linear)) {
    const std::uint64_t cycle = mix.schedule.steps_per_cycle();
    cycles_ = (spec.steps + cycle - 1) / cycle;
    std::set<std::uint64_t> all(lags_.begin(), lags_.end());
    for (std::uint64_t c = 1; c <= cycles_; ++c) all.insert(c * cycle);
    stops_.assign(all.begin(), all.end());
    const auto rows = static_cast<Eigen::Index>(spec.graphs * spec.replicas);
    const auto points = static_cast<Eigen::Index>(lags_.size());
    const auto times = static_cast<Eigen::Index>(spec.origins * cycles_);
    sums_.correlation = sums_.abs_correlation = Eigen::ArrayXXd::Zero(rows, points);
    sums_.energy = sums_.abs_m = sums_.m2 = RealSeries(times, rows);
  }

  void graph(Engine& engine, std::uint32_t g, const StopToken& stop) {
    for (std::uint64_t origin = 0; origin < spec_.origins; ++origin) {
      const Work before = engine.work();
      stretch(engine, g, static_cast<Eigen::Index>(origin), stop);
      const StepCost cost = step_cost(before, engine.work(), spec_.sites());
      sums_.local.push_back(cost.local);
      sums_.cluster.push_back(cost.cluster);
    }
    const auto replicas = static_cast<Eigen::Index>(spec_.replicas);
    for (RealSeries* series : {&sums_.energy, &sums_.abs_m, &sums_.m2}) {
      auto columns = series->middleCols(g * replicas, replicas);
      columns -= columns.mean();
    }
  }

  const Sums& sums() const { return sums_; }
  const std::vector<std::uint64_t>& lags() const { return lags_; }

 private:
  void stretch(Engine& engine, std::uint32_t g, Eigen::Index origin, const StopToken& stop) {
    const auto snapshot = [&] {
      return std::make_shared<Snapshot>(engine, spec_.sites(), spec_.replicas, spec_.model.q);
    };
    const auto then = snapshot();
    then->count();
    const std::uint64_t cycle = mix_.schedule.steps_per_cycle();
    Stepper stepper(engine, mix_.schedule);
    std::deque<std::future<std::vector<double>>>
        pending;  // results for lags next_lag, next_lag + 1, ..
    std::size_t next_lag = 0;
    const auto finish = [&] {
      add(pending.front().get(), g, next_lag++);
      pending.pop_front();
    };
    for (const std::uint64_t step : stops_) {
      check_stop(stop);
      stepper.to(step);
      const std::size_t lag = next_lag + pending.size();
      if (lag < lags_.size() && lags_[lag] == step) {
        const auto how = spec_.device >= 0 ? std::launch::async : std::launch::deferred;
        pending.push_back(std::async(how, [then, now = snapshot()] {
          now->count();
          return correlations(*then, *now);
        }));
        if (spec_.device < 0 || pending.size() == kInFlight) finish();
      }
      if (step % cycle == 0) {
        observe(engine, g,
                origin * static_cast<Eigen::Index>(cycles_) +
                    static_cast<Eigen::Index>(step / cycle) - 1);
      }
    }
    while (!pending.empty()) finish();
  }

  void add(const std::vector<double>& correlation, std::uint32_t g, std::size_t lag) {
    const auto column = static_cast<Eigen::Index>(lag);
    for (std::uint32_t r = 0; r < spec_.replicas; ++r) {
      const auto row = static_cast<Eigen::Index>(g * spec_.replicas + r);
      const double c = correlation[r] / static_cast<double>(spec_.origins);
      sums_.correlation(row, column) += c;
      sums_.abs_correlation(row, column) += std::abs(c);
    }
  }

  void observe(Engine& engine, std::uint32_t g, Eigen::Index time) {
    engine.measure(seen_);
    const SampleUnits units = spec_.units();
    for (std::uint32_t r = 0; r < spec_.replicas; ++r) {
      const auto column = static_cast<Eigen::Index>(g * spec_.replicas + r);
      double m = 0;
      units.per_site(static_cast<double>(seen_.bond_sum[r]),
                     static_cast<double>(seen_.magnetisation[r]), sums_.energy(time, column), m);
      sums_.abs_m(time, column) = std::abs(m);
      sums_.m2(time, column) = m * m;
    }
  }

  const CurveSpec& spec_;
  Mix mix_;
  std::vector<std::uint64_t> lags_, stops_;
  std::uint64_t cycles_ = 0;
  Sums sums_;
  Observation seen_;
};

Eigen::ArrayXd seconds_at(const StepCost& cost, const Schedule& schedule,
                          const std::vector<std::uint64_t>& steps) {
  Eigen::ArrayXd seconds(static_cast<Eigen::Index>(steps.size()));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    seconds[static_cast<Eigen::Index>(i)] = seconds_of(cost, schedule, steps[i]);
  }
  return seconds;
}

Eigen::ArrayXd as_array(const std::vector<std::uint64_t>& numbers) {
  Eigen::ArrayXd x(static_cast<Eigen::Index>(numbers.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    x[static_cast<Eigen::Index>(i)] = static_cast<double>(numbers[i]);
  }
  return x;
}

void add_autocorrelation(CurveSet& set, const CurveKeys& keys, const Sums& sums,
                         Eigen::Index replicas, const Schedule& schedule, double cycle_seconds) {
  const Eigen::Index times = sums.energy.rows();
  std::vector<Eigen::Index> lags;
  for (const auto lag : step_grid(static_cast<std::uint64_t>(std::max<Eigen::Index>(times / 4, 1)),
                                  kMostLags, false)) {
    if (static_cast<Eigen::Index>(lag) < times) lags.push_back(static_cast<Eigen::Index>(lag));
  }
  if (lags.empty()) return;
  Curve& curve = set.table("autocorrelation").curves.emplace_back(Curve{keys, {}});
  Eigen::ArrayXd cycles(static_cast<Eigen::Index>(lags.size()));
  for (std::size_t i = 0; i < lags.size(); ++i) {
    cycles[static_cast<Eigen::Index>(i)] = static_cast<double>(lags[i]);
  }
  const Eigen::ArrayXd steps = cycles * static_cast<double>(schedule.steps_per_cycle());
  const Eigen::ArrayXd seconds = cycles * cycle_seconds;
  curve.add("cycles", cycles);
  curve.add("steps", steps);
  curve.add("seconds", seconds);
  for (const auto& [name, series] : {std::pair<std::string, const RealSeries*>{"e", &sums.energy},
                                     {"abs_m", &sums.abs_m},
                                     {"m2", &sums.m2}}) {
    const MeanCurve rho = autocorrelation_curve(*series, lags, replicas);
    curve.add("rho_" + name, rho.value);
    curve.add("rho_" + name + "_error", rho.error);
  }
}

// Adds the relative error of the cycle's time in quadrature.
Value with_cost(Value seconds, Value cycle) {
  const double own = std::isfinite(seconds.error) ? seconds.error : 0;
  const double other = cycle.value > 0 ? seconds.value * cycle.error / cycle.value : 0;
  return {seconds.value, std::isfinite(seconds.value) ? std::hypot(own, other) : seconds.error};
}

Value scaled(Value v, double factor) { return {v.value * factor, v.error * factor}; }

void conclude(CurveSet& set, const CurveSpec& spec, double temperature, const Mix& mix,
              const Follower& follower) {
  const CurveKeys keys = curve_keys(temperature, mix);
  const Sums& sums = follower.sums();
  const Timing local_times = timing_of(sums.local), cluster_times = timing_of(sums.cluster);
  const Value local = local_times.median, cluster = cluster_times.median;
  const StepCost cost{local.value, cluster.value};
  const std::uint64_t cycle = mix.schedule.steps_per_cycle();
  const double cycle_seconds = seconds_of(cost, mix.schedule, cycle);
  const auto known = [](double error) { return std::isfinite(error) ? error : 0; };
  const Value cycle_cost{cycle_seconds, std::hypot(mix.schedule.local * known(local.error),
                                                   mix.schedule.cluster * known(cluster.error))};
  const Eigen::ArrayXd steps = as_array(follower.lags());
  const Eigen::ArrayXd seconds = seconds_at(cost, mix.schedule, follower.lags());
  const auto replicas = static_cast<Eigen::Index>(spec.replicas);
  Curve& curve = set.table("correlation").curves.emplace_back(Curve{keys, {}});
  const MeanCurve plain = mean_over_groups(sums.correlation, replicas),
                  absolute = mean_over_groups(sums.abs_correlation, replicas);
  curve.add("steps", steps);
  curve.add("seconds", seconds);
  curve.add("seconds_low",
            seconds_at({local_times.least, cluster_times.least}, mix.schedule, follower.lags()));
  curve.add("seconds_high",
            seconds_at({local_times.most, cluster_times.most}, mix.schedule, follower.lags()));
  curve.add("correlation", plain.value);
  curve.add("correlation_error", plain.error);
  curve.add("abs_correlation", absolute.value);
  curve.add("abs_correlation_error", absolute.error);
  add_autocorrelation(set, keys, sums, replicas, mix.schedule, cycle_seconds);

  MetricRow& row = set.metrics.emplace_back(MetricRow{keys, {}});
  row.add("sweep_seconds", local);
  row.add("cluster_seconds", cluster);
  row.add("cycle_seconds", cycle_cost);
  const Eigen::Index last = steps.size() - 1;
  row.add("correlation_end", {absolute.value[last], absolute.error[last]});
  row.add("steps_end", {steps[last], 0});
  row.add("seconds_end", with_cost({seconds[last], 0}, cycle_cost));
  for (const auto& [name, level] :
       {std::pair<const char*, double>{"e", std::exp(-1)}, {"10", 1.0 / 10}, {"30", 1.0 / 30}}) {
    row.add(std::string("steps_to_1/") + name,
            time_to_level(steps, sums.abs_correlation, level, replicas));
    row.add(std::string("seconds_to_1/") + name,
            with_cost(time_to_level(seconds, sums.abs_correlation, level, replicas), cycle_cost));
  }
  for (const auto& [name, series] : {std::pair<std::string, const RealSeries*>{"e", &sums.energy},
                                     {"abs_m", &sums.abs_m},
                                     {"m2", &sums.m2}}) {
    if (series->rows() < 4) continue;
    GammaResult gamma = gamma_method(*series);
    if (series->cols() > replicas) gamma.tau.error = tau_error(*series, gamma.window, replicas);
    const Value in_steps = scaled(gamma.tau, static_cast<double>(cycle));
    const Value in_seconds = with_cost(scaled(gamma.tau, cycle_seconds), cycle_cost);
    const Value beyond{std::numeric_limits<double>::infinity(), std::nan("")};
    row.add("tau_" + name + "_steps", gamma.window_found ? in_steps : beyond);
    row.add("tau_" + name + "_seconds", gamma.window_found ? in_seconds : beyond);
    if (gamma.window_found)
      continue;  // otherwise the series is too short and the sum is a lower bound
    row.add("tau_" + name + "_above_steps", in_steps);
    row.add("tau_" + name + "_above_seconds", in_seconds);
  }
}

void follow(const CurveSpec& spec, const Graph& graph, std::uint32_t g, double temperature,
            std::vector<Follower>& followers, const StopToken& stop, Progress& progress) {
  // All mixes share one equilibration.
  auto engine = curve_engine(spec, graph, g, temperature, spec.prepare, Start::mixed);
  for (std::uint64_t c = 0; c < spec.equilibrate; ++c) {
    check_stop(stop);
    engine->advance(spec.prepare.schedule, 1);
  }
  Observation seen;
  engine->measure(seen);  // resets the cluster sums before the next update
  const EngineState start = engine->save();
  for (std::size_t k = 0; k < spec.mixes.size(); ++k) {
    engine = curve_engine(spec, graph, g, temperature, spec.mixes[k], Start::mixed);
    engine->restore(start);
    warm_up(*engine, spec.mixes[k].schedule, start);
    followers[k].graph(*engine, g, stop);
    progress.add(1.0 / spec.graphs);
  }
}

}  // namespace

CurveSet measure_decorrelation(const CurveSpec& spec, const StopToken& stop, Progress& progress) {
  CurveSet set;
  set.kind = "decorrelate";
  set.about = spec_json(spec);
  std::vector<Graph> graphs;
  for (std::uint32_t g = 0; g < spec.graphs; ++g) {
    graphs.push_back(build_graph(graph_spec(spec, g)));
  }
  for (const double temperature : spec.temperatures) {
    std::vector<Follower> followers;
    for (const Mix& mix : spec.mixes) followers.emplace_back(spec, mix);
    for (std::uint32_t g = 0; g < spec.graphs; ++g) {
      follow(spec, graphs[g], g, temperature, followers, stop, progress);
    }
    for (std::size_t k = 0; k < spec.mixes.size(); ++k) {
      conclude(set, spec, temperature, spec.mixes[k], followers[k]);
    }
  }
  set.notes.push_back(kTimingNote);
  set.notes.push_back("tau_int: 1/2 cycle for white noise; a step is one sweep or cluster update");
  return set;
}

}  // namespace rewise

#include "src/curves/decorrelate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <future>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <tuple>

#include "analysis/series/correlation_curve.hpp"
#include "analysis/series/coupled.hpp"
#include "graphs/graph.hpp"
#include "src/base/clock.hpp"
#include "src/base/setting_name.hpp"
#include "src/curves/snapshot.hpp"
#include "src/curves/timing.hpp"
#include "src/results/task_results.hpp"

namespace rewise {
namespace {

constexpr Eigen::Index kMaxLags = 100;

// Maximum number of comparisons of configurations that run on the CPU while a CUDA device
// continues. With a CPU engine, each comparison runs between two timed steps instead, so that it
// does not distort the measured times.
constexpr std::size_t kInFlight = 8;

// Results of one mix at one temperature before averaging. Series are [cycle, graph and replica],
// minus the mean of the graph; that of q^2 has a column per pair of replicas, or none.
struct Sums {
  Eigen::ArrayXXd correlation, abs_correlation;  // [graph and replica, lag]
  RealSeries energy, abs_m, m2, q2;
  std::uint64_t attempts = 0, exchanges = 0;  // with the next temperature
};

// A series of Sums. Its columns are in groups of `group`, one group per graph.
struct NamedSeries {
  const char* name;
  const RealSeries* series;
  Eigen::Index group;
};

std::vector<NamedSeries> series_of(const Sums& sums, Eigen::Index graphs) {
  std::vector<NamedSeries> all;
  for (const auto& [name, series] : {std::pair<const char*, const RealSeries*>{"e", &sums.energy},
                                     {"abs_m", &sums.abs_m},
                                     {"m2", &sums.m2},
                                     {"q2", &sums.q2}}) {
    if (series->cols() > 0) all.push_back({name, series, series->cols() / graphs});
  }
  return all;
}

// Follows one mix at all temperatures of an engine.
class Follower {
 public:
  Follower(const CurveSpec& spec, const Updates& mix, std::size_t temperatures)
      : spec_(spec),
        mix_(mix),
        lags_(step_grid(spec.steps, spec.points, spec.linear)),
        sums_(temperatures) {
    const std::uint64_t cycle = mix.schedule.updates_per_cycle();
    cycles_ = (spec.steps + cycle - 1) / cycle;
    std::set<std::uint64_t> all(lags_.begin(), lags_.end());
    for (std::uint64_t c = 1; c <= cycles_; ++c) all.insert(c * cycle);
    stops_.assign(all.begin(), all.end());
    const auto rows = static_cast<Eigen::Index>(spec.graphs * spec.replicas);
    const auto points = static_cast<Eigen::Index>(lags_.size());
    for (Sums& sums : sums_) {
      sums.correlation = sums.abs_correlation = Eigen::ArrayXXd::Zero(rows, points);
      sums.energy = sums.abs_m = sums.m2 = RealSeries(times(), rows);
    }
  }

  void graph(Engine& engine, std::uint32_t g, const StopToken& stop) {
    RoundTrips trips(sums_.size(), spec_.replicas);
    for (std::uint64_t origin = 0; origin < spec_.origins; ++origin) {
      const WorkCounters before = engine.work();
      seconds_ = 0;
      measure_from(engine, g, static_cast<Eigen::Index>(origin), trips, stop);
      const WorkCounters after = engine.work();
      const StepCost cost = step_cost(before, after, spec_.sites());
      local_.push_back(cost.local);
      cluster_.push_back(cost.cluster);
      // Engines do not time exchange on the CPU, and count it as a part of the updates on CUDA.
      // Houdayer moves count as cluster updates, or as exchange if there are no cluster updates.
      double updates = after.local_seconds - before.local_seconds;
      if (mix_.schedule.cluster > 0) updates += after.cluster_seconds - before.cluster_seconds;
      exchange_.push_back(std::max(seconds_ - updates, 0.0) /
                          static_cast<double>(cycles_ * sums_.size() * spec_.replicas));
    }
    trips_ += trips.trips();
    for (Sums& sums : sums_) {
      for (RealSeries* series : {&sums.energy, &sums.abs_m, &sums.m2, &sums.q2}) {
        const Eigen::Index group = series->cols() / spec_.graphs;
        auto columns = series->middleCols(g * group, group);
        if (group > 0) columns -= columns.mean();
      }
    }
  }

  const Sums& sums(std::size_t temperature) const { return sums_[temperature]; }
  const std::vector<std::uint64_t>& lags() const { return lags_; }
  // Seconds per step and per exchange, from each origin.
  const std::vector<double>& local() const { return local_; }
  const std::vector<double>& cluster() const { return cluster_; }
  const std::vector<double>& exchange() const { return exchange_; }
  std::uint64_t round_trips() const { return trips_; }  // of all replicas and graphs
  // Round trips of a replica in 1000 cycles.
  double trips_per_1000() const {
    return 1000 * static_cast<double>(trips_) /
           (static_cast<double>(times()) * static_cast<double>(spec_.graphs * spec_.replicas) *
            static_cast<double>(sums_.size()));
  }

 private:
  Eigen::Index times() const { return static_cast<Eigen::Index>(spec_.origins * cycles_); }

  void measure_from(Engine& engine, std::uint32_t g, Eigen::Index origin, RoundTrips& trips,
                    const StopToken& stop) {
    const auto snapshot = [&] {
      return std::make_shared<Snapshot>(engine, spec_.sites(),
                                        static_cast<std::uint32_t>(sums_.size()), spec_.replicas,
                                        spec_.model.q);
    };
    const auto then = snapshot();
    then->count();
    const std::uint64_t cycle = mix_.schedule.updates_per_cycle();
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
      const double start = now();
      stepper.to(step);
      seconds_ += now() - start;
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
                    static_cast<Eigen::Index>(step / cycle) - 1,
                trips);
      }
    }
    while (!pending.empty()) finish();
  }

  void add(const std::vector<double>& correlation, std::uint32_t g, std::size_t lag) {
    const auto column = static_cast<Eigen::Index>(lag);
    for (std::size_t t = 0; t < sums_.size(); ++t) {
      for (std::uint32_t r = 0; r < spec_.replicas; ++r) {
        const auto row = static_cast<Eigen::Index>(g * spec_.replicas + r);
        const double c = correlation[t * spec_.replicas + r] / static_cast<double>(spec_.origins);
        sums_[t].correlation(row, column) += c;
        sums_[t].abs_correlation(row, column) += std::abs(c);
      }
    }
  }

  void observe(Engine& engine, std::uint32_t g, Eigen::Index time, RoundTrips& trips) {
    engine.measure(seen_);
    for (std::size_t t = 0; t < sums_.size(); ++t) observe_at(t, g, time);
    if (seen_.walker.empty()) return;
    trips.add([&](std::size_t t, std::size_t r) { return seen_.walker[t * spec_.replicas + r]; });
  }

  void observe_at(std::size_t t, std::uint32_t g, Eigen::Index time) {
    Sums& sums = sums_[t];
    const SampleUnits units = spec_.units();
    for (std::uint32_t r = 0; r < spec_.replicas; ++r) {
      const auto column = static_cast<Eigen::Index>(g * spec_.replicas + r);
      const std::size_t index = t * spec_.replicas + r;
      double m = 0;
      units.per_site(static_cast<double>(seen_.bond_sum[index]),
                     static_cast<double>(seen_.magnetisation[index]), sums.energy(time, column), m);
      sums.abs_m(time, column) = std::abs(m);
      sums.m2(time, column) = m * m;
    }
    const std::size_t pairs = spec_.model.q > 2 ? 0 : seen_.overlap.size() / sums_.size();
    if (sums.q2.cols() == 0) {
      sums.q2 = RealSeries(times(), static_cast<Eigen::Index>(spec_.graphs * pairs));
    }
    for (std::size_t k = 0; k < pairs; ++k) {
      const double q =
          static_cast<double>(seen_.overlap[t * pairs + k]) / static_cast<double>(spec_.sites());
      sums.q2(time, static_cast<Eigen::Index>(g * pairs + k)) = q * q;
    }
    if (seen_.exchanges.empty()) return;
    sums.attempts += seen_.exchange_attempts[t];
    sums.exchanges += seen_.exchanges[t];
  }

  const CurveSpec& spec_;
  Updates mix_;
  std::vector<std::uint64_t> lags_, stops_;
  std::uint64_t cycles_ = 0;
  std::vector<Sums> sums_;  // [T]
  std::vector<double> local_, cluster_, exchange_;
  double seconds_ = 0;  // of the steps since the origin
  std::uint64_t trips_ = 0;
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

void add_autocorrelation(CurveSet& set, const CurveKeys& keys, const std::vector<NamedSeries>& all,
                         const Schedule& schedule, double cycle_seconds) {
  const Eigen::Index times = all.front().series->rows();
  std::vector<Eigen::Index> lags;
  for (const auto lag : step_grid(static_cast<std::uint64_t>(std::max<Eigen::Index>(times / 4, 1)),
                                  kMaxLags, false)) {
    if (static_cast<Eigen::Index>(lag) < times) lags.push_back(static_cast<Eigen::Index>(lag));
  }
  if (lags.empty()) return;
  Curve& curve = set.table("autocorrelation").curves.emplace_back(Curve{keys, {}});
  Eigen::ArrayXd cycles(static_cast<Eigen::Index>(lags.size()));
  for (std::size_t i = 0; i < lags.size(); ++i) {
    cycles[static_cast<Eigen::Index>(i)] = static_cast<double>(lags[i]);
  }
  const Eigen::ArrayXd steps = cycles * static_cast<double>(schedule.updates_per_cycle());
  const Eigen::ArrayXd seconds = cycles * cycle_seconds;
  curve.add("cycles", cycles);
  curve.add("steps", steps);
  curve.add("seconds", seconds);
  for (const auto& [name, series, group] : all) {
    const MeanCurve rho = autocorrelation_curve(*series, lags, group);
    curve.add(fmt::format("rho_{}", name), rho.value);
    curve.add(fmt::format("rho_{}_error", name), rho.error);
  }
}

// Adds the relative error of the cycle's time in quadrature.
Value with_cost(Value seconds, Value cycle) {
  const double own = std::isfinite(seconds.error) ? seconds.error : 0;
  const double other = cycle.value > 0 ? seconds.value * cycle.error / cycle.value : 0;
  return {seconds.value, std::isfinite(seconds.value) ? std::hypot(own, other) : seconds.error};
}

Value scaled(Value v, double factor) { return {v.value * factor, v.error * factor}; }

// Autocorrelation times, and twice the longest of them: the cycles between independent
// measurements.
void add_times(MetricRow& row, const std::vector<NamedSeries>& all, std::uint64_t cycle,
               Value cycle_cost, bool exchange) {
  const Value beyond{std::numeric_limits<double>::infinity(), std::nan("")};
  Value longest{0, 0};
  bool known = true;
  std::vector<std::tuple<const char*, Value, bool>> taus;  // name, tau in cycles, not a bound
  for (const auto& [name, series, group] : all) {
    if (series->rows() < 4) continue;
    GammaResult gamma = gamma_method(*series);
    if (series->cols() > group) gamma.tau.error = tau_error(*series, gamma.window, group);
    if (gamma.tau.value > longest.value) longest = gamma.tau;
    known = known && gamma.window_found;
    taus.emplace_back(name, gamma.tau, gamma.window_found);
    const Value in_steps = scaled(gamma.tau, static_cast<double>(cycle));
    const Value in_seconds = with_cost(scaled(gamma.tau, cycle_cost.value), cycle_cost);
    row.add(fmt::format("tau_{}_steps", name), gamma.window_found ? in_steps : beyond);
    row.add(fmt::format("tau_{}_seconds", name), gamma.window_found ? in_seconds : beyond);
    if (gamma.window_found)
      continue;  // otherwise the series is too short and the sum is a lower bound
    row.add(fmt::format("tau_{}_above_steps", name), in_steps);
    row.add(fmt::format("tau_{}_above_seconds", name), in_seconds);
  }
  if (!exchange) return;
  for (const auto& [name, tau, found] : taus) {
    row.add(fmt::format("tau_{}_cycles", name), found ? tau : beyond);
    if (!found) row.add(fmt::format("tau_{}_above_cycles", name), tau);
  }
  if (longest.value == 0) return;
  row.add("independent_cycles", known ? scaled(longest, 2) : beyond);
  if (!known) row.add("independent_above_cycles", scaled(longest, 2));
}

// The sums with one row or column for each independent member. Houdayer moves make the two replicas
// of a pair dependent, and also their two overlaps: both are averaged.
Sums sums_of_members(const CurveSpec& spec, const Sums& sums) {
  if (!spec.schedule.houdayer) return sums;
  const auto columns = [&](const RealSeries& series, ReplicaDependence kind) {
    return member_columns(series, kind, spec.graphs);
  };
  const auto rows = [&](const Eigen::ArrayXXd& all) -> Eigen::ArrayXXd {
    return columns(all.transpose(), ReplicaDependence::replicas).transpose();
  };
  Sums reduced = sums;
  reduced.correlation = rows(sums.correlation);
  reduced.abs_correlation = rows(sums.abs_correlation);
  reduced.energy = columns(sums.energy, ReplicaDependence::replicas);
  reduced.abs_m = columns(sums.abs_m, ReplicaDependence::replicas);
  reduced.m2 = columns(sums.m2, ReplicaDependence::replicas);
  reduced.q2 = columns(sums.q2, ReplicaDependence::overlaps);
  return reduced;
}

// Adds the curves and metrics of temperature number `t` of the follower's engine to `set`.
void conclude(CurveSet& set, const CurveSpec& spec, double temperature, std::size_t t,
              const Updates& mix, const Follower& follower) {
  const CurveKeys keys = curve_keys(temperature, mix);
  const Sums sums = sums_of_members(spec, follower.sums(t));
  const Eigen::Index members = sums.correlation.rows() / static_cast<Eigen::Index>(spec.graphs);
  const Timing local = timing_of(follower.local()), cluster = timing_of(follower.cluster()),
               exchange = timing_of(follower.exchange());
  const StepCost cost{local.median.value, cluster.median.value, exchange.median.value};
  const std::uint64_t cycle = mix.schedule.updates_per_cycle();
  const double cycle_seconds = seconds_of(cost, mix.schedule, cycle);
  const auto known = [](const Timing& time) {
    return std::isfinite(time.median.error) ? time.median.error : 0;
  };
  const bool closes = mix.schedule.closing_steps() > 0;
  const Value cycle_cost{
      cycle_seconds, std::hypot(mix.schedule.local * known(local),
                                mix.schedule.cluster * known(cluster), closes * known(exchange))};
  const Eigen::ArrayXd steps = as_array(follower.lags());
  const auto seconds_by = [&](const StepCost& one) {
    return seconds_at(one, mix.schedule, follower.lags());
  };
  const Eigen::ArrayXd seconds = seconds_by(cost);
  const MeanCurve plain = mean_over_groups(sums.correlation, members),
                  absolute = mean_over_groups(sums.abs_correlation, members);
  Curve& curve = set.table("correlation").curves.emplace_back(Curve{keys, {}});
  curve.add("steps", steps);
  curve.add("seconds", seconds);
  curve.add("seconds_low", seconds_by({local.shortest, cluster.shortest, exchange.shortest}));
  curve.add("seconds_high", seconds_by({local.longest, cluster.longest, exchange.longest}));
  curve.add("correlation", plain.value);
  curve.add("correlation_error", plain.error);
  curve.add("abs_correlation", absolute.value);
  curve.add("abs_correlation_error", absolute.error);
  const std::vector<NamedSeries> all = series_of(sums, spec.graphs);
  add_autocorrelation(set, keys, all, mix.schedule, cycle_seconds);

  MetricRow& row = set.metrics.emplace_back(MetricRow{keys, {}});
  row.add("sweep_seconds", local.median);
  row.add("cluster_seconds", cluster.median);
  if (closes) row.add("exchange_seconds", exchange.median);
  row.add("cycle_seconds", cycle_cost);
  const Eigen::Index last = steps.size() - 1;
  row.add("correlation_end", {absolute.value[last], absolute.error[last]});
  row.add("steps_end", {steps[last], 0});
  row.add("seconds_end", with_cost({seconds[last], 0}, cycle_cost));
  for (const auto& [name, level] :
       {std::pair<const char*, double>{"e", std::exp(-1)}, {"10", 1.0 / 10}, {"30", 1.0 / 30}}) {
    const auto time = [&](const Eigen::ArrayXd& x) {
      return time_to_level(x, sums.abs_correlation, level, members);
    };
    row.add(std::string("steps_to_1/") + name, time(steps));
    row.add(std::string("seconds_to_1/") + name, with_cost(time(seconds), cycle_cost));
  }
  add_times(row, all, cycle, cycle_cost, mix.schedule.exchange);
  if (!mix.schedule.exchange) return;
  const double unknown = std::nan("");
  row.add("exchange_accepted", {sums.attempts == 0 ? unknown
                                                   : static_cast<double>(sums.exchanges) /
                                                         static_cast<double>(sums.attempts),
                                unknown});
  row.add("trips_per_1000_cycles", {follower.trips_per_1000(), unknown});
}

// Runs all mixes on one graph, with an engine that holds `temperatures`.
void follow(const CurveSpec& spec, const Graph& graph, std::uint32_t g,
            std::span<const double> temperatures, std::vector<Follower>& followers,
            const StopToken& stop, Progress& progress) {
  // All mixes share one equilibration.
  auto engine = curve_engine(spec, graph, g, temperatures, spec.prepare, Start::mixed);
  for (std::uint64_t c = 0; c < spec.equilibrate; ++c) {
    check_stop(stop);
    engine->advance(spec.prepare.schedule, 1);
  }
  Observation seen;
  engine->measure(seen);  // resets the cluster sums before the next update
  const EngineState start = engine->save();
  for (std::size_t k = 0; k < spec.mixes.size(); ++k) {
    engine = curve_engine(spec, graph, g, temperatures, spec.mixes[k], Start::mixed);
    engine->restore(start);
    warm_up(*engine, spec.mixes[k].schedule, start);
    followers[k].graph(*engine, g, stop);
    progress.add(static_cast<double>(temperatures.size()) / spec.graphs);
  }
}

}  // namespace

CurveSet measure_decorrelation(const CurveSpec& spec, const StopToken& stop, Progress& progress) {
  CurveSet set;
  set.kind = "decorrelate";
  set.about = spec_json(spec);
  const std::vector<Graph> graphs = curve_graphs(spec);
  // With replica exchange one engine holds all temperatures, else each engine holds one.
  const std::size_t together = spec.schedule.exchange ? spec.temperatures.size() : 1;
  for (std::size_t first = 0; first < spec.temperatures.size(); first += together) {
    const auto temperatures = std::span(spec.temperatures).subspan(first, together);
    std::vector<Follower> followers;
    for (const Updates& mix : spec.mixes) followers.emplace_back(spec, mix, together);
    for (std::uint32_t g = 0; g < spec.graphs; ++g) {
      follow(spec, graphs[g], g, temperatures, followers, stop, progress);
    }
    for (std::size_t t = 0; t < together; ++t) {
      for (std::size_t k = 0; k < spec.mixes.size(); ++k) {
        conclude(set, spec, temperatures[t], t, spec.mixes[k], followers[k]);
      }
    }
    for (std::size_t k = 0; k < spec.mixes.size(); ++k) {
      if (!spec.schedule.exchange || followers[k].round_trips() > 0) continue;
      set.notes.push_back(
          fmt::format("warning: {}: replica exchange: {}", to_string(spec.mixes[k]), kNoRoundTrip));
    }
  }
  set.notes.push_back(kTimingNote);
  if (spec.schedule.exchange) {
    set.notes.push_back(
        "replicas are exchanged at the end of each cycle; values are those of a temperature");
    set.notes.push_back(setting_name("out") + " and " + setting_name("json") +
                        " also contain correlations of the spins, and times in steps and seconds");
  }
  set.notes.push_back("tau_int of white noise is 1/2 cycle; a step is one sweep or cluster update");
  return set;
}

}  // namespace rewise

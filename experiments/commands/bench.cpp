#include "experiments/commands/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "analysis/series/statistics.hpp"
#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/engine/batch.hpp"
#include "src/settings/engines.hpp"
#include "src/study/make_engine.hpp"
#include "src/study/shared_ranks.hpp"

namespace rewise {
namespace {

double half_range_over_median(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return 0.5 * (*most - *least) / median(values);
}

// One timed interval with `rounds` cycles or measurements.
struct TimedInterval {
  double rounds = 0, seconds = 0;
  double sites = 0;          // attempted, flipped or visited
  double cluster_sites = 0;  // of these, by cluster updates
};

std::vector<double> seconds_per_round(const std::vector<TimedInterval>& intervals) {
  std::vector<double> values;
  for (const TimedInterval& interval : intervals)
    values.push_back(interval.seconds / interval.rounds);
  return values;
}

class GroupTimer {
 public:
  GroupTimer(const BenchGroup& group, const BenchEffort& effort, const StopToken& stop)
      : group_(group), effort_(effort), stop_(stop) {
    for (std::uint32_t k = 0; k < group.graphs; ++k) {
      all_.push_back(k);
      if (regular()) continue;  // such engines need no graph
      GraphSpec spec = group.graph;
      spec.seed += k;
      graphs_.push_back(std::make_unique<const Graph>(build_graph(spec)));
    }
    equilibrate();
  }

  BenchRow time(const BenchUpdate& update) {
    std::unique_ptr<EngineBatch> batch = std::move(equilibrated_batch_);
    if (!batch || !(update == equilibrated_by_)) {
      batch.reset();  // frees memory: two batches may not fit
      batch = make(update);
    }
    for (const std::size_t k : all_) batch->engine(k).restore(states_[k]);
    const Schedule schedule = schedule_of(update);
    const auto intervals = time_intervals(
        *batch, [&](std::uint64_t cycles) { batch->advance(all_, schedule, cycles); });
    BenchRow row = row_without_times(update, schedule);
    std::vector<double> rate;
    double cluster_sites = 0, rounds = 0;
    for (const TimedInterval& interval : intervals) {
      rate.push_back(interval.sites / interval.seconds * 1e-9);
      cluster_sites += interval.cluster_sites;
      rounds += interval.rounds;
    }
    row.flips_per_ns = median(rate);
    row.spread = half_range_over_median(rate);
    const double updates = !update.update ? 1 : static_cast<double>(schedule.steps_per_cycle());
    const double seconds_per_update = median(seconds_per_round(intervals)) / updates;
    const double systems = static_cast<double>(group_.replicas) * group_.graphs;
    row.us_per_update = 1e6 * seconds_per_update / systems;
    if (update.is(ClusterUpdate::wolff)) {
      row.cluster_fraction =
          cluster_sites / (rounds * updates * systems * static_cast<double>(graph().sites()));
    }
    if (schedule.cluster == 0) {
      row.measure_per_sweep = measurement_seconds(*batch, seconds_per_update) / seconds_per_update;
    }
    return row;
  }

 private:
  const Graph& graph() const { return *graphs_.front(); }
  bool regular() const { return traits(group_.engine).regular_only; }

  std::unique_ptr<EngineBatch> make(const BenchUpdate& update) const {
    EngineSpec spec;
    spec.model = group_.model;
    spec.betas = {1 / group_.temperature};
    spec.replicas = group_.replicas;
    spec.seed = effort_.seed;
    spec.start = Start::cold;
    if (update.sweeps()) spec.local = update.update->rule();
    if (update.is(ClusterUpdate::swendsen_wang) || !group_.device.team.empty() ||
        shared_ranks() != nullptr) {
      spec.cluster = ClusterUpdate::swendsen_wang;
    }
    if (update.is(ClusterUpdate::few_cluster)) spec.cluster = ClusterUpdate::few_cluster;
    EngineOptions options;
    group_.device.choose(options);
    options.threads = effort_.threads;
    options.methods = update.methods;
    if (regular()) {
      std::vector<std::unique_ptr<Engine>> one;
      one.push_back(make_engine(group_.engine, nullptr, group_.graph.extents, spec, options));
      return make_plain_batch(std::move(one));
    }
    std::vector<BatchTask> tasks;
    for (const auto& graph : graphs_) {
      tasks.push_back({*graph, spec});
      ++spec.seed;
    }
    return make_batch(group_.engine, tasks, options);
  }

  void equilibrate() {
    const bool words = traits(group_.engine).replica_multiple > 1;
    const bool local = regular() || (words && !group_.model.is_ferromagnet());
    BenchUpdate update{local   ? Update(LocalUpdate::metropolis)
                       : words ? ClusterUpdate::wolff
                               : ClusterUpdate::swendsen_wang};
    const auto why_no_team = factory(group_.engine).why_no_team;
    if (!local && !group_.device.team.empty() &&
        !why_no_team(group_.graph.extents, ClusterUpdate::swendsen_wang, {}).empty()) {
      // These devices cannot share Swendsen-Wang updates with the default methods. The timed
      // Swendsen-Wang update, if there is one, has methods that they can share.
      const auto timed = std::ranges::find_if(
          group_.updates, [](const auto& one) { return one.is(ClusterUpdate::swendsen_wang); });
      update = timed != group_.updates.end() ? *timed : BenchUpdate{LocalUpdate::metropolis};
    }
    auto batch = make(update);
    const Schedule schedule = update.sweeps() ? Schedule{1, 0}
                              : words         ? Schedule{1, 4}
                                              : Schedule{1, 1};
    for (std::uint64_t cycle = 0; cycle < effort_.equilibrate; ++cycle) {
      batch->advance(all_, schedule, 1);
      check_stop();
    }
    Observation pending;
    for (const std::size_t k : all_) {
      batch->engine(k).measure(pending);
      states_.push_back(batch->engine(k).save());
    }
    equilibrated_batch_ = std::move(batch);
    equilibrated_by_ = update;
  }

  Schedule schedule_of(const BenchUpdate& update) const {
    if (!update.update) return effort_.mix.value();
    if (update.sweeps()) return {1, 0};
    // The multispin engine and persistent kernels make all updates of a cycle in one launch, so
    // many updates per cycle hide the cost of the launch.
    const std::uint32_t usual =
        group_.device.index < 0 || !update.is(ClusterUpdate::wolff) ? 8 : 64;
    return {0, effort_.cluster_updates > 0 ? effort_.cluster_updates : usual};
  }

  // Times `repeats` intervals of at least half of `seconds` each. The warm-up before them
  // determines the number of rounds per interval and includes the setup of an engine on its first
  // use.
  template <class F>
  std::vector<TimedInterval> time_intervals(EngineBatch& batch, const F& run) const {
    std::uint64_t rounds = 1;
    run(rounds);
    for (double taken = 0;;) {
      const double begin = now();
      run(rounds);
      taken = now() - begin;
      check_stop();
      if (taken >= 0.5 * effort_.seconds) break;
      const double more = taken > 0 ? effort_.seconds / taken : 16;
      rounds = std::max(rounds + 1, static_cast<std::uint64_t>(static_cast<double>(rounds) *
                                                               std::min(more, 16.0)));
    }
    std::vector<TimedInterval> intervals;
    for (int k = 0; k < effort_.repeats; ++k) {
      const WorkCounters before = work_of(batch);
      const double begin = now();
      run(rounds);
      TimedInterval interval;
      interval.seconds = now() - begin;
      const WorkCounters after = work_of(batch);
      interval.rounds = static_cast<double>(rounds);
      interval.cluster_sites = static_cast<double>(after.cluster_sites - before.cluster_sites);
      interval.sites = static_cast<double>(after.local_attempts - before.local_attempts) +
                       interval.cluster_sites;
      intervals.push_back(interval);
      check_stop();
    }
    return intervals;
  }

  WorkCounters work_of(EngineBatch& batch) const {
    WorkCounters sum;
    for (const std::size_t k : all_) {
      const WorkCounters work = batch.engine(k).work();
      sum.local_attempts += work.local_attempts;
      sum.cluster_sites += work.cluster_sites;
    }
    return sum;
  }

  // Seconds of a measurement: a sweep with a measurement takes this much longer than a sweep alone
  // (`sweep_seconds`).
  double measurement_seconds(EngineBatch& batch, double sweep_seconds) const {
    const auto intervals = time_intervals(batch, [&](std::uint64_t count) {
      batch.sample(all_, {1, 0}, 1, count, [](auto...) {});
    });
    return std::max(0.0, median(seconds_per_round(intervals)) - sweep_seconds);
  }

  BenchRow row_without_times(const BenchUpdate& update, const Schedule& schedule) const {
    BenchRow row;
    row.engine = to_string(group_.engine);
    row.update = update.name();
    row.method = update.method;
    row.device = group_.device.name;
    row.extents = group_.graph.extents;
    row.p = group_.graph.p;
    row.temperature = group_.temperature;
    row.replicas = group_.replicas;
    row.graphs = group_.graphs;
    row.schedule = to_string(schedule);
    if (group_.model.is_potts()) row.q = group_.model.q;
    return row;
  }

  void check_stop() const { stop_.check("; nothing was kept"); }

  const BenchGroup& group_;
  const BenchEffort& effort_;
  const StopToken& stop_;
  std::vector<std::unique_ptr<const Graph>> graphs_;
  std::vector<std::size_t> all_;                     // 0 .. graphs - 1
  std::vector<EngineState> states_;                  // [graphs], equilibrated
  std::unique_ptr<EngineBatch> equilibrated_batch_;  // the batch that equilibrated them; reused for
                                                     // the first row if it has the same options
  BenchUpdate equilibrated_by_;
};

bool same_task(const BenchRow& a, const BenchRow& b) {
  return a.engine == b.engine && a.update == b.update && a.q == b.q && a.extents == b.extents &&
         a.p == b.p && a.temperature == b.temperature &&
         (a.update != "mix" || a.schedule == b.schedule);
}

}  // namespace

std::vector<BenchRow> run_bench(const BenchGroup& group, const BenchEffort& effort,
                                const StopToken& stop,
                                const std::function<void(const BenchRow&)>& done) {
  GroupTimer timed(group, effort, stop);
  std::vector<BenchRow> rows;
  for (const BenchUpdate& update : group.updates) {
    rows.push_back(timed.time(update));
    done(rows.back());
  }
  return rows;
}

void compare_with_cpu(std::vector<BenchRow>& rows) {
  for (BenchRow& row : rows) {
    if (row.device == "cpu") continue;
    // The fastest row of the CPU, if it has several methods or numbers of replicas.
    double best = 0;
    for (const BenchRow& other : rows) {
      if (other.device == "cpu" && same_task(row, other)) best = std::max(best, other.flips_per_ns);
    }
    if (best > 0) row.over_cpu = row.flips_per_ns / best;
  }
}

}  // namespace rewise

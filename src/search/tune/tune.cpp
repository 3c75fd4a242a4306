#include "src/search/tune/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/series/decorrelation.hpp"
#include "analysis/series/statistics.hpp"
#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/base/setting_name.hpp"
#include "src/results/run_check.hpp"
#include "src/settings/ergodicity.hpp"
#include "src/settings/parse.hpp"
#include "src/study/make_engine.hpp"
#include "src/study/task_group.hpp"

namespace rewise {
namespace {

constexpr double kEquilibriumShare = 0.4;  // maximum fraction of the budget for equilibration
constexpr double kEquilibriumTaus = 10;    // minimum length, in tau, of a series in equilibrium
constexpr double kAgreement = 1e-3;        // significance level of the test of hot against cold
constexpr double kTied = 2;                // difference of tied candidates, joint standard errors
// Equilibration with replica exchange: the number of cycles that the first run discards, and the
// maximum number of measurements of each run.
constexpr std::uint64_t kFirstDiscarded = 32, kMaxMeasured = 256;

bool has_swendsen_wang(std::span<const Updates> candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [](const Updates& c) {
    return c.cluster == ClusterUpdate::swendsen_wang && c.schedule.cluster > 0;
  });
}

class Tuner {
 public:
  Tuner(const TuneSetting& setting, const StopToken& stop,
        const std::function<void(const std::string&)>& note)
      : setting_(setting), stop_(stop), note_(note), graph_(task_graph(setting.spec)) {}

  TuneResult run() {
    const double begin = now();
    exchange() ? equilibrate_with_exchange() : equilibrate();
    if (!result_.rejected.empty()) {
      result_.spec = setting_.spec;
      return std::move(result_);
    }
    make_trials();
    RaceRules rules = setting_.rules;
    rules.budget = std::max(setting_.budget - (now() - begin), 0.3 * setting_.budget);
    const RaceResult result = race(contenders_, rules, stop_);
    check_stop();
    report(result);
    result_.seconds = now() - begin;
    result_.budget = setting_.budget;
    return std::move(result_);
  }

 private:
  bool exchange() const { return setting_.spec.schedule.exchange; }
  // Houdayer moves correlate overlaps (analysis/series/coupled.hpp).
  ReplicaDependence dependence() const {
    return setting_.spec.schedule.houdayer ? ReplicaDependence::overlaps : ReplicaDependence::none;
  }

  void check_stop() const { stop_.check(" while tuning the schedule"); }

  TuneEngine& engine_of(ClusterUpdate cluster) {
    auto& engine = engines_[cluster];
    if (!engine) {
      EngineSpec spec = engine_spec(setting_.spec);
      spec.cluster = cluster;
      EngineOptions options = setting_.options;
      options.stop = [this] { return stop_.stop_requested(); };
      const BatchTask task[] = {{*graph_, spec}};
      engine = std::make_unique<TuneEngine>(make_batch(setting_.spec.engine, task, options),
                                            graph_->sites(), spec.replicas, spec.model,
                                            exchange() ? spec.betas.size() : 0, dependence());
    }
    return *engine;
  }

  void equilibrate();
  bool in_equilibrium(const TuneSeries& series) const;
  void equilibrate_with_exchange();
  std::string why_no_equilibrium(const TaskData& run) const;
  std::string drift() const;
  double seconds_per_cycle(TuneEngine& engine, const Schedule& schedule);
  void make_trials();
  void report(const RaceResult& result);

  const TuneSetting& setting_;
  const StopToken& stop_;
  const std::function<void(const std::string&)>& note_;
  std::shared_ptr<const Graph> graph_;
  std::map<ClusterUpdate, std::unique_ptr<TuneEngine>> engines_;
  TuneEngine* equilibrated_ = nullptr;  // the engine of the equilibration; others copy its state
  // Means of q^2 in the second half of the equilibration's last run, [temperature][pair].
  Eigen::ArrayXd equilibrium_q2_;
  std::vector<std::unique_ptr<Contender>> contenders_;
  TuneResult result_;
};

void Tuner::equilibrate() {
  const bool labels = has_swendsen_wang(setting_.candidates);
  TuneEngine& engine = engine_of(labels ? ClusterUpdate::swendsen_wang : ClusterUpdate::wolff);
  equilibrated_ = &engine;
  const double root = std::sqrt(static_cast<double>(graph_->sites()));
  const bool many = !labels && setting_.spec.graph.p > 0;
  // Eight sweeps of a word group cost a fraction of a Swendsen-Wang update, and reduce its tau.
  const std::uint32_t sweeps = labels && traits(setting_.spec.engine).replica_multiple > 1 ? 8 : 1;
  const Schedule schedule{sweeps, many ? static_cast<std::uint32_t>(std::max(1.0, root / 32)) : 1};
  const double end = now() + kEquilibriumShare * setting_.budget;
  bool done = false;
  std::uint64_t cycles = 0;
  // Each segment is longer than all previous ones together, and is checked without them.
  for (std::size_t length = 32; !done && now() < end; length *= 2) {
    TuneSeries series(engine.replicas());
    while (series.times() < length && now() < end) {
      const auto begin = now();
      series.add(engine.sample(schedule, 1, 1).front(), engine.units());
      ++cycles;
      check_stop();
      if (now() - begin > kEquilibriumShare * setting_.budget) break;
    }
    done = series.times() == length && in_equilibrium(series);
  }
  if (!done) {
    result_.warnings.push_back(fmt::format(
        "{} cycles of {} did not reach equilibrium, or not with certainty: use a larger budget",
        cycles, to_string(schedule)));
  }
  result_.equilibration = cycles;
  result_.equilibrated_by = schedule;
  result_.device = engine.engine().device();
  result_.threads = engine.engine().threads();
}

bool Tuner::in_equilibrium(const TuneSeries& series) const {
  const SeriesTau m2 = series_tau(series, series.squared_order());
  const double times = static_cast<double>(series.times());
  if (!m2.found || times < kEquilibriumTaus * m2.tau.value) return false;
  std::vector<char> cold;
  for (std::uint32_t r = 0; r < setting_.spec.replicas; ++r) {
    cold.push_back(starts_hot(setting_.spec.start, r) ? 0 : 1);
  }
  const auto hot = std::count(cold.begin(), cold.end(), 0);
  if (hot < 2 || static_cast<std::size_t>(hot) + 2 > cold.size()) return true;
  for (const auto& view : {series.abs_m(), series.energy()}) {
    const Eigen::ArrayXd means = view.colwise().mean().transpose();
    const std::span<const double> values(means.data(), cold.size());
    if (!compare_hot_cold(values, cold, kAgreement).agree) return false;
  }
  return true;
}

// Squared overlaps of a run, [time][temperature, pair].
RealSeries q2_of(const TaskData& run) {
  const auto sites = static_cast<double>(run.graph.sites);
  RealSeries all;
  for (std::size_t t = 0; t < run.temperature.size(); ++t) {
    const IntSeries one = series_at(run.overlap, t);
    if (t == 0) {
      all.resize(one.rows(), one.cols() * static_cast<Eigen::Index>(run.temperature.size()));
    }
    all.middleCols(static_cast<Eigen::Index>(t) * one.cols(), one.cols()) =
        (one.cast<double>() / sites).square();
  }
  return member_columns(all, MeasuredTask(run).pair_dependence,
                        static_cast<Eigen::Index>(run.temperature.size()));
}

// Why a run of the schedule does not show equilibrium; "" if it does.
std::string Tuner::why_no_equilibrium(const TaskData& run) const {
  const CheckedRun checked = checked_run(run);
  for (std::size_t t = 0; t < checked.checks.size(); ++t) {
    if (checked.checks[t].ok()) continue;
    return fmt::format("T = {}: {}", number_text(run.temperature[t]),
                       checked.checks[t].reasons.front().reason);
  }
  const RealSeries q2 = q2_of(run);
  TuneSeries series(static_cast<std::uint32_t>(q2.cols()));
  for (Eigen::Index time = 0; time < q2.rows(); ++time) series.add_overlaps(q2.row(time));
  const SlowestTau slowest = slowest_tau(series, run.temperature.size());
  if (!slowest.tau.found ||
      static_cast<double>(q2.rows()) < kEquilibriumTaus * slowest.tau.tau.value) {
    return fmt::format("T = {}: {} cycles are too few to determine tau of q^2",
                       number_text(run.temperature[slowest.temperature]),
                       MeasuredTask(run).every * static_cast<double>(q2.rows()));
  }
  if (const auto trips = exchange_result(run); trips && trips->round_trips == 0) {
    return "no replica went from the lowest to the highest temperature and back";
  }
  return "";
}

// Every run starts anew and is twice as long as the previous one, so that all of them together take
// at most twice the time of the last.
void Tuner::equilibrate_with_exchange() {
  const double end = now() + kEquilibriumShare * setting_.budget;
  TaskSpec spec = setting_.spec;
  spec.set(setting_.candidates.front());
  TaskRunOptions how;
  how.engine = setting_.options;
  how.stop = stop_;
  result_.equilibrated_by = spec.schedule;
  for (std::uint64_t discarded = kFirstDiscarded;; discarded *= 2) {
    const double begin = now();
    spec.equilibrate = discarded;
    spec.every = (3 * discarded + kMaxMeasured - 1) / kMaxMeasured;
    spec.measure = 3 * discarded / spec.every;
    TaskJob job{.spec = spec};
    job.graph_of = [this](const TaskSpec&) { return graph_; };
    TaskResult run = run_task(std::move(job), how);
    check_stop();
    result_.equilibration = spec.cycles();
    result_.rejected = why_no_equilibrium(run.data);
    if (result_.rejected.empty()) {
      const RealSeries q2 = q2_of(run.data);
      equilibrium_q2_ = q2.bottomRows(q2.rows() / 2).colwise().mean().transpose();
      equilibrated_ = &engine_of(spec.cluster);
      StateRecord& state = run.data.state;
      equilibrated_->engine().restore({state.engine, state.step, std::move(state.bytes)});
      result_.device = equilibrated_->engine().device();
      result_.threads = equilibrated_->engine().threads();
      return;
    }
    if (now() + 2 * (now() - begin) > end) {
      result_.rejected +=
          fmt::format(", after {} cycles of {}", spec.cycles(), to_string(spec.schedule));
      return;
    }
  }
}

// Describes a significant difference between q^2 in the race and in the equilibration, at the level
// of a run's checks; "" if there is none.
std::string Tuner::drift() const {
  const auto temperatures = static_cast<Eigen::Index>(setting_.spec.temperatures.size());
  const Eigen::Index pairs = equilibrium_q2_.size() / temperatures;
  if (pairs < 2) return "";
  const double comparisons =
      static_cast<double>(engines_.size()) * static_cast<double>(temperatures);
  for (const auto& [cluster, engine] : engines_) {
    const Eigen::ArrayXd mean = engine->mean_q2();
    if (mean.size() == 0) continue;  // no candidate with these updates was measured
    const Eigen::ArrayXd change = mean - equilibrium_q2_;
    for (Eigen::Index t = 0; t < temperatures; ++t) {
      const auto at = static_cast<std::size_t>(t * pairs);
      const Agreement found =
          compare_to_zero(std::span(change.data() + at, static_cast<std::size_t>(pairs)), 0);
      if (found.p_value * comparisons >= kEquilibriumLevel) continue;
      return fmt::format(
          "T = {}: q^2 differs by {:.1f} standard errors between the equilibration and the "
          "comparison of schedules",
          number_text(setting_.spec.temperatures[static_cast<std::size_t>(t)]), std::abs(found.z));
    }
  }
  return "";
}

// Returns the shortest of three estimates, each from at least 2 ms of cycles. A single estimate may
// be too long if other programs use the machine, and a good schedule would then be left out.
double Tuner::seconds_per_cycle(TuneEngine& engine, const Schedule& schedule) {
  engine.advance(schedule, 1);  // includes the setup of the first use
  double least = std::numeric_limits<double>::infinity();
  for (int estimate = 0; estimate < 3; ++estimate) {
    std::uint64_t cycles = 0;
    const double begin = now();
    do {
      const std::uint64_t more = std::max<std::uint64_t>(1, cycles);
      engine.advance(schedule, more);
      cycles += more;
    } while (now() - begin < 2e-3);
    const double taken = now() - begin;
    least = std::min(least, taken / static_cast<double>(cycles));
    if (taken > 0.05) break;  // long enough
  }
  return least;
}

void Tuner::make_trials() {
  constexpr std::uint32_t bunch = 16;
  // Seconds of a sweep, of a cluster update, and of a replica exchange (with a Houdayer move).
  std::map<ClusterUpdate, std::array<double, 3>> cost;
  Observation closing;  // not used: the measurement resets the cluster sums
  for (const Updates& candidate : setting_.candidates) {
    if (cost.count(candidate.cluster) > 0) continue;
    TuneEngine& engine = engine_of(candidate.cluster);
    if (&engine != equilibrated_) engine.engine().restore(equilibrated_->engine().save());
    const double sweep = seconds_per_cycle(engine, {1, 0});
    const bool updates = std::ranges::any_of(setting_.candidates, [&](const Updates& other) {
      return other.cluster == candidate.cluster && other.schedule.cluster > 0;
    });
    const double update = updates ? seconds_per_cycle(engine, {0, bunch}) / bunch : 0;
    const Schedule closed{1, 0, true, setting_.spec.schedule.houdayer};
    const double both = exchange() ? seconds_per_cycle(engine, closed) : sweep;
    engine.engine().measure(closing);
    cost[candidate.cluster] = {sweep, update, std::max(both - sweep, 0.0)};
    check_stop();
  }
  for (const Updates& candidate : setting_.candidates) {
    const auto& [sweep, update, exchanging] = cost[candidate.cluster];
    const double expected =
        sweep * candidate.schedule.local + update * candidate.schedule.cluster + exchanging;
    contenders_.push_back(std::make_unique<TuneTrial>(
        candidate, engine_of(candidate.cluster), expected,
        setting_.improved && setting_.spec.model.q == 2 && !exchange()));
  }
}

void Tuner::report(const RaceResult& race) {
  result_.spec = setting_.spec;
  result_.graph = graph_record(*graph_);
  if (exchange()) result_.rejected = drift();
  for (std::size_t k = 0; k < contenders_.size(); ++k) {
    const auto& trial = static_cast<const TuneTrial&>(*contenders_[k]);
    result_.rows.push_back({trial.candidate(), trial.figures(), race.records[k], 0});
  }
  for (std::size_t r = 0; r < race.ranking.size(); ++r) {
    result_.rows[race.ranking[r]].rank = static_cast<int>(r) + 1;
  }
  result_.winner = race.ranking.front();
  const Value best = result_.best().figures.worth;
  for (std::size_t r = 1; r < race.ranking.size(); ++r) {
    const TuneRow& row = result_.rows[race.ranking[r]];
    const Value other = row.figures.worth;
    if (row.record.dropped || !std::isfinite(other.value)) continue;
    if (best.value - other.value < kTied * std::hypot(best.error, other.error)) {
      result_.tied.push_back(race.ranking[r]);
    }
  }
  if (const std::size_t judged = result_.judged(); judged < result_.rows.size()) {
    result_.warnings.push_back(
        fmt::format("{} of {} candidates were not measured: use a larger budget to compare them",
                    result_.rows.size() - judged, result_.rows.size()));
  }
  if (std::isfinite(best.value) && !contenders_[result_.winner]->standing().sound) {
    result_.warnings.push_back(
        "tau of the best candidate comes from a short series: use a larger budget to confirm it");
  }
  if (result_.best().candidate.schedule.cluster == 0 &&
      setting_.spec.local == LocalUpdate::metropolis && setting_.spec.model.q == 2 &&
      ergodicity_problem(*graph_).isolated > 1) {
    result_.warnings.push_back(fmt::format(
        "the best candidate has Metropolis sweeps only, in which sites without bonds always flip "
        "and so stay aligned: use {}, or the best schedule with cluster updates",
        setting_value("local", "glauber")));
  }
  if (!note_) return;
  // The words of the table (tune_report.cpp)
  const auto left_out = std::ranges::count_if(
      race.records, [](const ContenderRecord& p) { return p.dropped && p.turns == 0; });
  const auto dropped = std::ranges::count_if(
      race.records, [](const ContenderRecord& p) { return p.dropped && p.turns > 0; });
  std::string line = result_.has_best()
                         ? fmt::format("{} is best", to_string(result_.best().candidate))
                         : "too few candidates were measured";
  if (dropped + left_out > 0) {
    line += fmt::format("; of {} candidates {} dropped, {} left out", race.records.size(), dropped,
                        left_out);
  }
  note_(line);
}

}  // namespace

std::size_t TuneResult::judged() const {
  return static_cast<std::size_t>(std::ranges::count_if(rows, [](const TuneRow& row) {
    return row.record.dropped || std::isfinite(row.figures.worth.value);
  }));
}

bool TuneResult::has_best() const {
  if (!rejected.empty() || rows.empty() || (exchange() && !best().figures.worth_known))
    return false;
  return std::isfinite(best().figures.worth.value) &&
         judged() >= std::min<std::size_t>(2, rows.size());
}

std::vector<ClusterUpdate> clusters_of(EngineKind engine) {
  if (!has(engine, ClusterUpdate::swendsen_wang)) return {ClusterUpdate::wolff};
  return {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang};
}

std::vector<Updates> standard_candidates(std::span<const ClusterUpdate> clusters) {
  constexpr Schedule with_wolff[] = {{1, 0},  {64, 1}, {16, 1},  {8, 1},    {4, 1},
                                     {2, 1},  {1, 1},  {1, 2},   {1, 4},    {1, 8},
                                     {1, 16}, {1, 64}, {1, 256}, {1, 1024}, {0, 1}};
  constexpr Schedule with_swendsen_wang[] = {{1, 0}, {64, 1}, {16, 1}, {4, 1}, {1, 1}, {0, 1}};
  std::vector<Updates> candidates;
  for (const ClusterUpdate cluster : clusters) {
    std::span<const Schedule> all = with_wolff;
    if (cluster == ClusterUpdate::swendsen_wang) all = with_swendsen_wang;
    for (const Schedule& schedule : all) {
      const bool twice = schedule.cluster == 0 && cluster != clusters.front();
      if (!twice) candidates.push_back({schedule, cluster});
    }
  }
  return candidates;
}

std::vector<Updates> exchange_candidates(std::span<const ClusterUpdate> clusters) {
  std::vector<Updates> candidates;
  for (const std::uint32_t sweeps : {1, 2, 4, 8, 16, 32, 64}) {
    candidates.push_back({{sweeps, 0, true}, ClusterUpdate::wolff});
  }
  for (const ClusterUpdate cluster : clusters) {
    for (const std::uint32_t sweeps : {16, 4, 1}) {
      candidates.push_back({{sweeps, 1, true}, cluster});
    }
  }
  return candidates;
}

TuneResult tune(const TuneSetting& setting, const StopToken& stop,
                const std::function<void(const std::string&)>& note) {
  if (setting.candidates.empty()) throw Error(ExitCode::internal, "tune: no candidates");
  return Tuner(setting, stop, note).run();
}

std::uint32_t tuning_replicas(const TaskSpec& spec, int device) {
  if (spec.schedule.exchange && traits(spec.engine).replica_multiple == 1) {
    return few_replicas(spec.schedule.houdayer);
  }
  if (traits(spec.engine).replica_multiple == 1) return device < 0 ? 8 : 4;
  if (device < 0) return 32;
  constexpr double most = 256;
  const double temperatures =
      spec.schedule.exchange ? static_cast<double>(spec.temperatures.size()) : 1;
  const double groups = std::min(std::ceil(filling_groups(site_count(spec)) / temperatures), most);
  return 32 * static_cast<std::uint32_t>(groups);
}

}  // namespace rewise

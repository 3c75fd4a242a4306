#include "src/search/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/series/decorrelation.hpp"
#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/study/engines.hpp"
#include "src/study/parse.hpp"
#include "src/study/task_group.hpp"

namespace rewise {
namespace {

constexpr double kEquilibriumShare = 0.4;  // maximum fraction of the budget
constexpr double kEquilibriumTaus = 10;
constexpr double kAgreement = 1e-3;  // level of the test of hot against cold
constexpr double kTied = 2;          // joint standard errors

bool has_swendsen_wang(std::span<const Candidate> candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) {
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
    equilibrate();
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
  void check_stop() const {
    if (!stop_.stop_requested()) return;
    throw Error(ExitCode::interrupted,
                fmt::format("stopped by {} while tuning the schedule", stop_.reason()));
  }

  TuneEngine& engine_of(ClusterUpdate cluster) {
    auto& engine = engines_[cluster];
    if (!engine) {
      EngineSpec spec = engine_spec(setting_.spec);
      spec.cluster = cluster;
      check_spec(*graph_, spec);
      EngineOptions options = setting_.options;
      options.stop = [this] { return stop_.stop_requested(); };
      const GroupTask task[] = {{*graph_, spec}};
      engine = std::make_unique<TuneEngine>(make_batch(setting_.spec.engine, task, options),
                                            graph_->sites(), spec.replicas, spec.model);
    }
    return *engine;
  }

  void equilibrate();
  bool in_equilibrium(const TuneSeries& series) const;
  double seconds_per_cycle(TuneEngine& engine, const Schedule& schedule);
  void make_trials();
  std::size_t isolated_sites() const;
  void report(const RaceResult& result);

  const TuneSetting& setting_;
  const StopToken& stop_;
  const std::function<void(const std::string&)>& note_;
  std::shared_ptr<const Graph> graph_;
  std::map<ClusterUpdate, std::unique_ptr<TuneEngine>> engines_;
  TuneEngine* equilibrated_ = nullptr;  // the first one
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
  const std::uint32_t sweeps = labels && traits(setting_.spec.engine).word > 1 ? 8 : 1;
  const Schedule schedule{sweeps, many ? static_cast<std::uint32_t>(std::max(1.0, root / 32)) : 1};
  const double end = now() + kEquilibriumShare * setting_.budget;
  bool done = false;
  std::uint64_t cycles = 0;
  // Each stretch is as long as all previous ones, which are discarded.
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
  const SeriesTau m2 = series_tau(series, series.m2());
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

// Estimate from one short stretch.
double Tuner::seconds_per_cycle(TuneEngine& engine, const Schedule& schedule) {
  engine.advance(schedule, 1);  // includes the setup of the first use
  std::uint64_t cycles = 0;
  const double begin = now();
  do {
    const std::uint64_t more = std::max<std::uint64_t>(1, cycles);
    engine.advance(schedule, more);
    cycles += more;
  } while (now() - begin < 2e-3);
  return (now() - begin) / static_cast<double>(cycles);
}

void Tuner::make_trials() {
  constexpr std::uint32_t bunch = 16;
  std::map<ClusterUpdate, std::pair<double, double>> cost;  // of a sweep, of a cluster update
  Observation closing;                                      // of cluster sums, before states move
  for (const Candidate& candidate : setting_.candidates) {
    if (cost.count(candidate.cluster) > 0) continue;
    TuneEngine& engine = engine_of(candidate.cluster);
    if (&engine != equilibrated_) engine.engine().restore(equilibrated_->engine().save());
    const double sweep = seconds_per_cycle(engine, {1, 0});
    const double update = seconds_per_cycle(engine, {0, bunch}) / bunch;
    engine.engine().measure(closing);
    cost[candidate.cluster] = {sweep, update};
    check_stop();
  }
  for (const Candidate& candidate : setting_.candidates) {
    const auto& [sweep, update] = cost[candidate.cluster];
    const double expected = sweep * candidate.schedule.local + update * candidate.schedule.cluster;
    contenders_.push_back(
        std::make_unique<TuneTrial>(candidate, engine_of(candidate.cluster), expected,
                                    setting_.improved && setting_.spec.model.q == 2));
  }
}

std::size_t Tuner::isolated_sites() const {
  const auto offsets = graph_->offsets();
  std::size_t isolated = 0;
  for (std::size_t k = 0; k + 1 < offsets.size(); ++k) isolated += offsets[k] == offsets[k + 1];
  return isolated;
}

void Tuner::report(const RaceResult& race) {
  result_.spec = setting_.spec;
  result_.graph = graph_record(*graph_);
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
  if (result_.best().candidate.schedule.cluster == 0 && isolated_sites() > 1 &&
      setting_.spec.local == LocalUpdate::metropolis && setting_.spec.model.q == 2) {
    result_.warnings.push_back(
        "the best candidate has Metropolis sweeps only, in which isolated sites flip together at "
        "every sweep: use --local glauber, or the best schedule with cluster updates");
  }
  if (!note_) return;
  const auto dropped = std::count_if(race.records.begin(), race.records.end(),
                                     [](const ContenderRecord& p) { return p.dropped; });
  std::string line = result_.has_best()
                         ? fmt::format("{} is best", candidate_text(result_.best().candidate))
                         : "too few candidates were measured";
  if (dropped > 0) {
    line += fmt::format("; {} of {} candidates were dropped early", dropped, race.records.size());
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
  return std::isfinite(best().figures.worth.value) &&
         judged() >= std::min<std::size_t>(2, rows.size());
}

std::vector<ClusterUpdate> clusters_of(EngineKind engine) {
  if (!has(engine, ClusterUpdate::swendsen_wang)) return {ClusterUpdate::wolff};
  return {ClusterUpdate::wolff, ClusterUpdate::swendsen_wang};
}

std::vector<Candidate> standard_candidates(std::span<const ClusterUpdate> clusters) {
  constexpr Schedule with_wolff[] = {{1, 0},  {64, 1}, {16, 1},  {8, 1},    {4, 1},
                                     {2, 1},  {1, 1},  {1, 2},   {1, 4},    {1, 8},
                                     {1, 16}, {1, 64}, {1, 256}, {1, 1024}, {0, 1}};
  constexpr Schedule with_swendsen_wang[] = {{1, 0}, {64, 1}, {16, 1}, {4, 1}, {1, 1}, {0, 1}};
  std::vector<Candidate> candidates;
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

TuneResult tune(const TuneSetting& setting, const StopToken& stop,
                const std::function<void(const std::string&)>& note) {
  if (setting.candidates.empty()) throw Error(ExitCode::internal, "tune: no candidates");
  return Tuner(setting, stop, note).run();
}

std::uint32_t tuning_replicas(const TaskSpec& spec, int device) {
  if (traits(spec.engine).word == 1) return device < 0 ? 8 : 4;
  if (device < 0) return 32;
  constexpr double most = 256;
  return 32 * static_cast<std::uint32_t>(std::min(filling_groups(site_count(spec)), most));
}

}  // namespace rewise

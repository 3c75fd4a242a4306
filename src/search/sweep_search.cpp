#include "src/search/sweep_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/count_text.hpp"
#include "src/base/error.hpp"
#include "src/base/round_to_digits.hpp"
#include "src/results/task_results.hpp"
#include "src/search/costs.hpp"
#include "src/search/exchange_ladder.hpp"
#include "src/search/sweep_target.hpp"
#include "src/search/sweep_tasks.hpp"
#include "src/settings/ergodicity.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

constexpr double kFall = 0.4;  // value of U at the estimate
constexpr std::size_t kFewGraphs = 4;

// With few replicas, errors and products of averages come from time blocks, which must be
// uncorrelated (task_results.hpp, moments.hpp).
void warn_of_short_blocks(SweepPoint& point, const SizeData& size, const StudyConfig& config,
                          const std::vector<TemperatureResult>& single) {
  const std::uint32_t replicas = config.replicas;
  constexpr std::uint64_t of_pairs = 8;
  constexpr double apart = 2;  // tau_int
  const auto every = static_cast<double>(size.plan.every);
  for (const TemperatureResult& result : single) {
    if (!blocks_too_short(result, every)) continue;
    point.warnings.push_back(fmt::format(
        "{}: errors are too small: with {} of one graph, they come from time blocks of "
        "{} cycles, but tau_int is at least {:.2g} cycles; raise sampling.measure or use {} "
        "replicas",
        size_text(size), count_text(replicas, "replica"),
        static_cast<double>(result.block_length) * every, result.longest_tau.value,
        few_replicas(config.houdayer)));
    break;
  }
  const double tau = longest_tau(size);
  const std::uint64_t length = std::max<std::uint64_t>(size.plan.measure / of_pairs, 1);
  if (replicas == 1 && (size.plan.measure < of_pairs * of_pairs ||
                        static_cast<double>(length) * every < apart * tau)) {
    point.warnings.push_back(
        fmt::format("{}: C and chi are too small: with one replica, they need more than {} "
                    "measurements over {} tau_int; raise sampling.measure or use two replicas",
                    size_text(size), size.plan.measure, 2 * apart * of_pairs));
  }
}

// Without a round trip, replica exchange may not have equilibrated the lowest temperatures.
std::string round_trip_warning(const SizeData& size) {
  const auto& graphs = size.samples.graphs;
  const auto without = std::ranges::count_if(graphs, [](const GraphSample& graph) {
    return graph.exchange && graph.exchange->round_trips == 0;
  });
  if (without == 0) return "";
  const std::string where =
      graphs.size() == 1 ? "" : fmt::format("on {} of {} graphs ", without, graphs.size());
  return fmt::format("{}: replica exchange: {}{}", size_text(size), where, kNoRoundTrip);
}

// Warns if Metropolis sweeps are not ergodic on a graph from a file; "" if they are.
std::string ergodicity_warning(const SweepState& work, const SizeData& size,
                               const StudyConfig& config) {
  TaskSpec spec;
  spec.imported = work.imported;
  spec.engine = config.engine;
  spec.model = config.model;
  spec.local = work.local;
  spec.set(size.plan);
  return metropolis_warning(spec, std::nullopt, SettingNames::keys());
}

// Computes the averages over the graphs so far, and warnings.
void average(SweepState& work, std::size_t k, const StudyConfig& config) {
  SweepPoint& point = work.point;
  const SizeData& size = point.sizes[k];
  const bool one = size.samples.graphs.size() == 1;
  point.curves.push_back(one ? curves_of_one_graph(size, work.single[k]) : simulated_curves(size));
  point.hot_cold.push_back(compare_halves(size));
  const HotColdTest& halves = point.hot_cold.back();
  if (!halves.agree) {
    point.warnings.push_back(fmt::format(
        "{}: not in equilibrium: replicas that started hot and cold differ in {} by {:.1f} "
        "standard errors{}; {}",
        size_text(size), halves.observable, std::abs(halves.worst_z), on_differing_graphs(size),
        equilibrium_cure(config)));
    blank_rejected(size, point.curves.back());
  }
  // A temperature is reported once, for the first of these reasons. Temperatures that exchange
  // replicas with rejected ones come last.
  for (const auto blank : {blank_drifting, blank_off_identity, blank_stuck, blank_affected}) {
    std::ranges::move(blank(config, size, point.curves.back()), std::back_inserter(point.warnings));
  }
  std::ranges::move(equilibrium_warnings(config, size), std::back_inserter(point.warnings));
  if (std::string line = round_trip_warning(size); !line.empty()) {
    point.warnings.push_back(std::move(line));
  }
  if (work.imported) {
    if (std::string line = ergodicity_warning(work, size, config); !line.empty()) {
      point.warnings.push_back(fmt::format("{}: {}", size_text(size), line));
    }
  }
  if (one) warn_of_short_blocks(point, size, config, work.single[k]);
  if (const std::size_t graphs = size.samples.graphs.size(); graphs > 1 && graphs < kFewGraphs) {
    point.warnings.push_back(
        fmt::format("{}: errors come from the spread between {} graphs and may be too small by "
                    "chance: use at least {} graphs",
                    size_text(size), graphs, kFewGraphs));
  }
}

std::vector<SweepPoint> averaged(std::vector<SweepState> works, const StudyConfig& config,
                                 SweepGoal goal) {
  std::vector<SweepPoint> points;
  for (SweepState& work : works) {
    for (std::size_t k = 0; k < work.point.sizes.size(); ++k) average(work, k, config);
    SweepPoint& point = work.point;
    StudyConfig own = config;
    own.rule = point.rule;
    if (overlap_crossings_of(own) != OverlapCrossings::none) {
      point.crossings = overlap_crossings(point.p, point.sizes, point.curves);
    }
    if (goal == SweepGoal::glass_tc) {
      const auto target = point.glass ? point.glass->target : std::nullopt;
      point.glass = locate_glass(point.p, point.sizes, point.crossings);
      point.glass->target = target;
    }
    points.push_back(std::move(work.point));
  }
  return points;
}

// Keeps measured graphs only, and sizes of several graphs only if two or more are measured.
std::vector<SweepState> finished_part(std::vector<SweepState> works) {
  for (SweepState& work : works) {
    auto& sizes = work.point.sizes;
    for (std::size_t k = sizes.size(); k-- > 0;) {
      const std::size_t least = sizes[k].samples.graphs.size() > 1 ? 2 : 1;
      if (drop_unmeasured(sizes[k].samples) >= least) continue;
      const auto at = static_cast<std::ptrdiff_t>(k);
      sizes.erase(sizes.begin() + at);
      work.single.erase(work.single.begin() + at);
      if (!work.point.targets.empty()) {
        work.point.targets.erase(work.point.targets.begin() + at);
      }
    }
  }
  std::erase_if(works, [](const SweepState& work) { return work.point.sizes.empty(); });
  return works;
}

class Sweep {
 public:
  Sweep(Study& study, const StopToken& stop, Progress& progress, SweepGoal goal)
      : tasks_(study, stop, progress), config_(study.config()), goal_(goal) {}

  std::vector<SweepPoint> finished() const {
    return averaged(finished_part(tasks_.works), config_, goal_);
  }

  std::vector<SweepPoint> run(const SweepInterim& interim) {
    std::size_t most = 0;
    for (const SweepState& work : tasks_.works) most = std::max(most, work.point.sizes.size());
    for (std::size_t k = 0; k < most; ++k) {
      std::vector<SweepState*> now;
      for (SweepState& work : tasks_.works) {
        if (k < work.point.sizes.size()) now.push_back(&work);
      }
      if (config_.temperatures.empty()) scan(now, k);
      for (SweepState* work : now) tune_schedule(*work, k);
      choose_plans(now, k);
      fill(now, k);
    }
    if (config_.target_error) run_target(interim);
    return averaged(std::move(tasks_.works), config_, goal_);
  }

 private:
  void stage(const char* what, const std::vector<SweepState*>& works, std::size_t k) {
    tasks_.stage(fmt::format("{} {}", what, size_text(works.front()->point.sizes[k])));
  }

  void scan(const std::vector<SweepState*>& works, std::size_t k) {
    stage("temperature scan of", works, k);
    std::vector<ScanJob> jobs;
    for (SweepState* work : works) {
      const SizeData& size = work->point.sizes[k];
      jobs.push_back(
          {scan_plan(size.plan, work->range, size.samples.sites), tasks_.job(*work, k).task});
    }
    const std::vector<ScanResult> scans = tasks_.scan(jobs, tasks_.seconds_from(k));
    for (std::size_t i = 0; i < works.size(); ++i) place_window(*works[i], k, scans[i]);
  }

  void place_window(SweepState& work, std::size_t k, const ScanResult& scan) {
    SizeData& size = work.point.sizes[k];
    if (config_.temperature_range) {
      size.plan.temperatures =
          exchange_ladder(*config_.temperature_range, scan, size.samples.sites);
      return;
    }
    const std::vector<double>& temperatures = scan.temperatures;
    std::vector<double> u, c;
    for (std::size_t t = 0; t < temperatures.size(); ++t) {
      const Moments mean = scan.mean(t);
      u.push_back(binder(mean));
      c.push_back(specific_heat(mean, size.samples.sites, temperatures[t]));
    }
    // U of models with q > 2 does not fall to 0, and it has a minimum at a first-order transition.
    // The peak of the specific heat is used instead.
    const bool heat = config_.model.q > 2;
    const auto peak = std::max_element(c.begin(), c.end()) - c.begin();
    const std::optional<double> centre =
        heat ? temperatures[static_cast<std::size_t>(peak)] : fall_of_binder(temperatures, u);
    if (!centre) {
      work.point.warnings.push_back(fmt::format(
          "{}: U does not cross {} between T = {} and {}; temperatures were chosen around the "
          "middle",
          size_text(size), kFall, temperatures.front(), temperatures.back()));
    }
    const double middle = centre.value_or(std::sqrt(temperatures.front() * temperatures.back()));
    const double half = kSweepWindow * half_window(middle, work.point.dim, work.point.p,
                                                   size.samples.sites, config_.model.q);
    size.plan.temperatures = sweep_temperatures(middle, half);
    const Range all = scan_range(work.point.dim, work.point.rule, work.point.p, config_.model);
    work.range = {std::max(all.low, middle - half), std::min(all.high, middle + half)};
  }

  // Chooses schedule = "auto", at the middle temperature.
  void tune_schedule(SweepState& work, std::size_t k) {
    if (work.point.schedule || work.imported != nullptr) return;
    SizePlan likely = work.point.sizes[k].plan;
    likely.equilibrate = config_.equilibrate.value_or(kLikelySweep.equilibrate);
    likely.measure = config_.measure.value_or(kLikelySweep.measure);
    likely.every = config_.every.value_or(kLikelySweep.every);
    tasks_.tune(tasks_.job(work, k), likely);
  }

  // Determines equilibration, cycles per measurement and number of measurements.
  void choose_plans(const std::vector<SweepState*>& works, std::size_t k) {
    if (!config_.equilibrate || !config_.every) {
      stage("times of", works, k);
      tasks_.find_times(jobs_of(works, k), tasks_.seconds_from(k));
    }
    for (SweepState* work : works) {
      SizePlan& plan = work->point.sizes[k].plan;
      if (config_.equilibrate) plan.equilibrate = *config_.equilibrate;
      if (config_.every) plan.every = *config_.every;
      plan.measure = config_.measure.value_or(kLikelySweep.measure);
      if (!config_.temperatures.empty()) plan.temperatures = config_.temperatures;
    }
  }

  // Measures the initial graphs of size k.
  void fill(const std::vector<SweepState*>& works, std::size_t k) {
    stage("graphs of", works, k);
    const std::vector<SizeJob> jobs = jobs_of(works, k);
    tasks_.expect(tasks_.seconds_to_fill(jobs), tasks_.seconds_from(k + 1));
    tasks_.fill(jobs);
  }

  std::vector<SizeJob> jobs_of(const std::vector<SweepState*>& works, std::size_t k) {
    std::vector<SizeJob> jobs;
    for (SweepState* work : works) jobs.push_back(tasks_.job(*work, k));
    return jobs;
  }

  // The sizes of a point whose errors have a common target: one size or, for T_SG, all of them.
  struct Open {
    SweepState* work = nullptr;
    std::size_t first = 0;  // of the sizes
    RoundStep step = {};
    std::vector<std::uint32_t> graphs = {};  // of each of them in the next round
    std::uint64_t measure = 0;               // 0: as before
  };

  // Runs rounds until every target is reached or cannot be.
  void run_target(const SweepInterim& interim) {
    std::vector<Open> open;
    for (SweepState& work : tasks_.works) {
      if (goal_ == SweepGoal::glass_tc) {
        work.point.glass.emplace().target.emplace().requested = *config_.target_error;
        open.push_back({&work});
        continue;
      }
      for (std::size_t k = 0; k < work.point.sizes.size(); ++k) {
        const SizeData& size = work.point.sizes[k];
        SweepTarget target;
        target.requested = *config_.target_error;
        target.graphs_before = static_cast<std::uint32_t>(size.samples.graphs.size());
        target.measurements_before = size.plan.measure;
        work.point.targets.push_back(std::move(target));
        open.push_back({&work, k});
      }
    }
    run_rounds(
        std::move(open),
        [&](std::vector<Open>& items) {
          for (Open& one : items) goal_ == SweepGoal::glass_tc ? decide_glass(one) : decide(one);
        },
        [&](bool ended) {
          if (ended || !interim || !tasks_.computed_some()) return;
          interim(averaged(tasks_.works, config_, goal_));
        },
        [&](const std::vector<Open>& items) { add(items); });
  }

  void decide(Open& one) const {
    SweepPoint& point = one.work->point;
    const SweepStep step = next_sweep_step(config_, point.p, point.sizes[one.first]);
    one.step = step;
    one.graphs = {step.graphs};
    one.measure = step.measure;
    SweepTarget& target = point.targets[one.first];
    target.note(step);
    target.observable = step.observable;
    target.temperature = step.temperature;
    target.thermal = step.thermal;
  }

  void decide_glass(Open& one) const {
    const SweepPoint now = averaged({*one.work}, config_, goal_).front();
    const GrowthStep step = next_glass_step(config_, *now.glass, now.sizes, now.crossings);
    one.step = step;
    one.graphs.assign(step.members.begin(), step.members.end());
    one.work->point.glass->target->note(step);
  }

  void add(const std::vector<Open>& open) {
    double worst = std::nan(""), left = 0;  // worst: unknown until there is a result
    std::vector<SizeJob> jobs;
    for (const Open& one : open) {
      SweepPoint& point = one.work->point;
      double done = 0;
      for (std::size_t k = 0; k < one.graphs.size(); ++k) {
        jobs.push_back(tasks_.job(*one.work, one.first + k, one.graphs[k]));
        done += seconds_done(jobs.back());
        if (one.measure > 0) point.sizes[one.first + k].plan.measure = one.measure;
      }
      left += one.step.work_left * done;
      worst = std::fmax(worst, one.step.error);
      ++(point.glass ? *point.glass->target : point.targets[one.first]).rounds;
    }
    const std::string known = std::isfinite(worst) ? fmt::format("{:.2g}", worst) : "unknown";
    tasks_.begin_round(fmt::format("{} at the worst of {} that are above the", known,
                                   goal_ == SweepGoal::glass_tc ? fmt::format("{} p", open.size())
                                                                : count_text(open.size(), "size")),
                       left);
    const double now = tasks_.seconds_to_fill(jobs);
    tasks_.expect(now, std::max(left - now, 0.0), false);
    tasks_.fill(jobs);
  }

  SweepTasks tasks_;
  const StudyConfig& config_;
  const SweepGoal goal_;
};

}  // namespace

std::vector<SweepPoint> search_sweep(Study& study, const StopToken& stop, Progress& progress,
                                     SweepGoal goal, const SweepInterim& interim,
                                     const SweepInterim& interrupted) {
  Sweep sweep(study, stop, progress, goal);
  try {
    return sweep.run(interim);
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::interrupted && interrupted) interrupted(sweep.finished());
    throw;
  }
}

std::vector<double> sweep_temperatures(double centre, double half_width) {
  constexpr int count = kLikelySweep.temperatures;
  const double grain = half_width / 16;
  const double middle = std::round(centre / grain) * grain;
  // Wide windows of small lattices must not reach zero.
  const double low = std::max(middle - half_width, 0.2 * middle);
  std::vector<double> temperatures;
  for (int k = 0; k < count; ++k) {
    const double exact = low + (middle + half_width - low) * k / (count - 1);
    temperatures.push_back(round_to_digits(exact, 6));
  }
  return temperatures;
}

std::optional<double> fall_of_binder(const std::vector<double>& temperatures,
                                     const std::vector<double>& binder) {
  for (std::size_t k = temperatures.size(); k-- > 1;) {
    const double above = binder[k - 1] - kFall, below = binder[k] - kFall;
    if (above < 0 || below >= 0) continue;
    return temperatures[k - 1] + (temperatures[k] - temperatures[k - 1]) * above / (above - below);
  }
  return std::nullopt;
}

}  // namespace rewise

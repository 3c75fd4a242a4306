#include "src/search/tc_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <span>

#include "analysis/scaling/crossing.hpp"
#include "analysis/scaling/extrapolation.hpp"
#include "src/base/all_cores.hpp"
#include "src/base/error.hpp"
#include "src/base/profile.hpp"
#include "src/search/tc_analysis.hpp"
#include "src/search/tc_potts.hpp"
#include "src/search/tc_target.hpp"
#include "src/search/tc_tasks.hpp"
#include "src/search/tc_window.hpp"
#include "src/search/tree_search.hpp"
#include "src/study/halves.hpp"
#include "src/study/parse.hpp"
#include "src/study/task_results.hpp"

namespace rewise {
namespace {

// The coarse scan: the two smallest sizes over all temperatures at which any rewired lattice could
// order, a few graphs each; where Binder's U of the two crosses is the first estimate of Tc.

constexpr std::uint32_t kScanGraphs = 4;
constexpr std::size_t kScanSizes = 2;
constexpr std::uint64_t kScanWarmUp = 60;  // cycles
constexpr std::uint64_t kShortEquilibration = 48, kShortMeasure = 40;
constexpr double kLargeScan = 1 << 17;  // sites from which on Swendsen-Wang does it at once

MomentRows scan_moments(const TaskData& data) {
  MomentRows rows(static_cast<Eigen::Index>(data.temperature.size()), kMomentCount);
  for (std::size_t t = 0; t < data.temperature.size(); ++t) {
    rows.row(static_cast<Eigen::Index>(t)) =
        mean_moments(series_at(data.bond_sum, t), series_at(data.magnetisation, t), units_of(data))
            .transpose();
  }
  return rows;
}

// Where U of the two smallest sizes crosses: their graphs' moments. NaN without a crossing.
double locate(const std::vector<double>& temperatures, const MomentRows* small,
              const MomentRows* large, double& steepest) {
  const auto count = static_cast<Eigen::Index>(temperatures.size());
  const auto binder_of = [&](const MomentRows* rows, Eigen::Index t) {
    Moments mean = Moments::Zero();
    for (std::uint32_t g = 0; g < kScanGraphs; ++g) mean += rows[g].row(t).transpose();
    return binder(mean / kScanGraphs);
  };
  Eigen::ArrayXd x(count), difference(count);
  Eigen::Index at = 0;
  for (Eigen::Index t = 0; t < count; ++t) {
    x(t) = temperatures[static_cast<std::size_t>(t)];
    difference(t) = binder_of(large, t) - binder_of(small, t);
    if (std::abs(binder_of(small, t) - 0.4) < std::abs(binder_of(small, at) - 0.4)) at = t;
  }
  steepest = x(at);
  // Far above Tc both are zero but for noise, which crosses too.
  return falling_root(x, difference, steepest).value_or(std::nan(""));
}

// The scan of these points over a range each.
class Scan {
 public:
  Scan(TcTasks& tasks, const std::vector<std::size_t>& which) : tasks_(tasks), which_(which) {}

  // Those whose U does not cross there. Notes where hot and cold starts disagree around the centre.
  std::vector<std::size_t> run(const std::function<Range(const TcPoint&)>& range) {
    const auto& extents = tasks_.extents(1);
    const double sites = std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies<>());
    std::vector<StudyTask> list;
    for (const std::size_t i : which_) {
      TcPoint& point = tasks_.points[i];
      for (std::size_t k = 0; k < kScanSizes; ++k) {
        SizePlan plan = tasks_.first_plan(point, k);
        plan.temperatures = scan_temperatures(range(point), sites);
        plan.equilibrate = short_ ? kShortEquilibration : 200;
        plan.measure = short_ ? kShortMeasure : 100;
        plan.every = 2;
        if (warm_) {
          plan.warm_up.cycles = kScanWarmUp;
          plan.cluster = ClusterUpdate::swendsen_wang;
          plan.schedule = {1, 1};
          plan.equilibrate = 0;
          plan.every = 1;
        }
        for (std::uint32_t g = 0; g < kScanGraphs; ++g) {
          list.push_back(tasks_.task_of(point, k, g, plan, "scan"));
        }
      }
    }
    tasks_.expect(seconds_of(list), tasks_.seconds_from(0, which_));
    constexpr std::size_t of_point = kScanSizes * kScanGraphs;
    std::vector<MomentRows> rows(list.size());
    std::vector<Halves> halves(list.size());
    tasks_.run(list, [&](std::size_t index, TaskData&& data) {
      rows[index] = scan_moments(data);
      halves[index] = halves_of(data, 0, data.bond_sum.time());
    });
    std::vector<std::size_t> lost;
    unsettled_.clear();
    for (std::size_t n = 0; n < which_.size(); ++n) {
      TcPoint& point = tasks_.points[which_[n]];
      const std::size_t first = n * of_point;
      double steepest = 0;
      const double root =
          locate(list[first].spec.temperatures, &rows[first], &rows[first + kScanGraphs], steepest);
      point.centre = std::isnan(root) ? steepest : root;
      if (std::isnan(root)) lost.push_back(which_[n]);
      if (!halves_agree(list[first].spec.temperatures, point.centre, &halves[first])) {
        unsettled_.push_back(which_[n]);
      }
    }
    return lost;
  }

  const std::vector<std::size_t>& unsettled() const { return unsettled_; }
  // From now on Swendsen-Wang, which reaches equilibrium at any temperature.
  void warm() { warm_ = true; }
  // Fewer cycles, where those that are unsettled by them are done again with Swendsen-Wang.
  void shorten() { short_ = true; }

 private:
  // At the temperatures next to the centre.
  static bool halves_agree(const std::vector<double>& temperatures, double centre,
                           const Halves* graphs) {
    Eigen::Index next = 0;
    for (std::size_t t = 0; t < temperatures.size(); ++t) {
      const auto at = static_cast<Eigen::Index>(t);
      if (std::abs(temperatures[t] - centre) <
          std::abs(temperatures[static_cast<std::size_t>(next)] - centre)) {
        next = at;
      }
    }
    for (std::size_t k = 0; k < kScanSizes; ++k) {
      std::vector<Halves> near;
      for (std::uint32_t g = 0; g < kScanGraphs; ++g) {
        Halves one = graphs[k * kScanGraphs + g];
        if (one.difference.rows() == 0) continue;
        one.difference = one.difference.row(next).eval();
        one.variance = one.variance.row(next).eval();
        near.push_back(std::move(one));
      }
      if (!compare_halves(near).agree) return false;
    }
    return true;
  }

  TcTasks& tasks_;
  const std::vector<std::size_t>& which_;
  bool warm_ = false, short_ = false;
  std::vector<std::size_t> unsettled_;
};

// Puts the estimates in these points' centres, and a warning where there was no crossing. Under
// equilibrate = "auto" first where Tc is likely, and with Swendsen-Wang where hot and cold starts
// do not agree around the estimate. Error(interrupted) as Study::run.
void run_tc_scan(TcTasks& tasks, const std::vector<std::size_t>& which) {
  tasks.stage("coarse scan");
  const StudyConfig& config = tasks.config();
  const auto whole = [&](const TcPoint& point) { return scan_range(config, point.data.p); };
  const auto say = [&](const std::vector<std::size_t>& lost) {
    for (const std::size_t i : lost) {
      tasks.points[i].data.warnings.push_back(
          "the coarse scan found no crossing of U; the search began where U = 0.4");
    }
  };
  if (config.equilibrate) return say(Scan(tasks, which).run(whole));

  const auto likely = [&](const TcPoint& point) { return likely_range(config, point.data.p); };
  Scan scan(tasks, which);
  // Local updates and single clusters take long to forget a start on large lattices.
  const auto& extents = tasks.extents(1);
  const double sites = std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies<>());
  const bool may_warm = has(config.engine, ClusterUpdate::swendsen_wang);
  const bool large = sites > kLargeScan;
  if (may_warm && large) scan.warm();
  if (may_warm) scan.shorten();
  std::vector<std::size_t> lost = scan.run(likely);
  if (const auto& again = scan.unsettled(); may_warm && !large && !again.empty()) {
    Scan warm(tasks, again);
    warm.warm();
    warm.shorten();
    std::erase_if(lost, [&](std::size_t i) { return std::ranges::find(again, i) != again.end(); });
    const std::vector<std::size_t> still = warm.run(likely);
    lost.insert(lost.end(), still.begin(), still.end());
    std::ranges::sort(lost);
  }
  if (lost.empty()) return;
  Scan wide(tasks, lost);
  if (may_warm) wide.warm();
  const std::vector<std::size_t> still = wide.run(whole);
  say(still);
}

// Size by size, in windows around the estimate.

constexpr int kMostMoves = 6;      // of a window
constexpr int kMovesForLimit = 3;  // of these, to where U of the larger size has its limit, too
constexpr Eigen::Index kFinePoints = 41;
constexpr double kWide = 1.7;   // times the width, for sizes whose two crossings lie far apart
constexpr int kWideCount = 10;  // temperatures then

MomentFunction crossing_function(const SizeSamples& samples, int observable) {
  if (observable == 0) return binder_at;
  return [power = samples.m2_power](const Moments& m, double sites, double) {
    return std::pow(sites, power) * m(kM2);
  };
}

// `which` of the configuration's p.
class Search {
 public:
  Search(Study& study, const StopToken& stop, Progress& progress,
         std::span<const std::size_t> which)
      : study_(study), tasks_(study, stop, progress, which), config_(study.config()) {
    for (std::size_t i = 0; i < tasks_.points.size(); ++i) {
      if (crossings_reach(config_, point(i).data.p)) all_.push_back(i);
    }
  }

  // Before each round of a target and after the last one: whether there are new results; whether
  // nothing is left to be done.
  using OnRound = std::function<void(bool news, bool ended)>;

  void run(const OnRound& on_round) {
    tasks_.expect_size(all_, 0);
    if (config_.temperatures.empty()) run_tc_scan(tasks_, all_);
    grow(0, config_.sizes.size(), all_);
    if (config_.target_error) run_rounds(on_round);
    tasks_.stage("");
    tasks_.expect(0, 0);
  }

  std::vector<PointData> so_far() const {
    std::vector<PointData> data;
    for (const auto& point : tasks_.points) data.push_back(point.data);
    return data;
  }

 private:
  using Who = std::vector<std::size_t>;  // numbers of points

  TcPoint& point(std::size_t i) { return tasks_.points[i]; }

  // Sizes [first, end) of these points, one after the other, up to the graphs that each begins
  // with. Those that are left of a size once its window is found do not move the next one's: they
  // run beside its pilots and its first graphs, so that each step has the other's idle time. The
  // last size, which has none after it, has all of its graphs at once where windows have held
  // before.
  void grow(std::size_t first, std::size_t end, const Who& who) {
    const auto rest = [&](std::size_t k) { fill(k, tasks_.first_graphs(k), who); };
    bool held = !config_.temperatures.empty();
    for (std::size_t k = first; k < end; ++k) {
      tasks_.stage(extents_text(tasks_.extents(k)));
      tasks_.expect_size(who, k);
      for (const auto i : who) open_size(i, k);
      std::vector<std::function<void()>> jobs = {
          [&, later = tasks_.seconds_from(k, who), whole = held && k + 1 == end] {
            begin_size(k, who, later, whole);
          }};
      if (k > first) jobs.emplace_back([&] { rest(k - 1); });
      side_by_side(study_, jobs);
      if (config_.temperatures.empty()) held = settle(k, who);
    }
    if (end > first) rest(end - 1);
  }

  // The times of an open size and the graphs that show whether its window is the right one, or all
  // that it begins with. `later`: seconds of all that is to follow, on one core.
  void begin_size(std::size_t k, const Who& who, double later, bool whole) {
    choose_plan(k, who, later);
    for (const auto i : who) {
      if (begins_short(config_, point(i).data.p)) {
        point(i).data.sizes[k].plan.measure = first_measurements(config_.replicas);
      }
    }
    const std::uint32_t graphs = tasks_.first_graphs(k);
    fill(k, whole ? graphs : std::min(graphs, kPilotGraphs), who);
  }

  // A larger one than the study has: Tc, or where sizes crossed last, says where its window lies.
  void add_size(std::size_t k, const Who& who) {
    for (const auto i : who) {
      const auto found = locate_tc(config_, point(i).data).candidate();
      if (found) point(i).centre = found->value;
    }
    grow(k, k + 1, who);
  }

  void fill(std::size_t k, std::uint32_t graphs, const Who& who) {
    tasks_.fill(tasks_.cells(who, k, graphs));
  }

  void open_size(std::size_t i, std::size_t k) {
    TcPoint& point = tasks_.points[i];
    SizeData size = tasks_.new_size(point, k);
    size.samples.m2_power =
        point.data.p > 0 ? kMeanFieldM2Power
                         : regular_m2_power(config_.dim(), static_cast<int>(config_.model.q));
    // Where all is fixed, numbers stay what they were before there were such controls.
    size.samples.improved = !config_.measure && config_.model.kind == ModelKind::ising;
    point.data.sizes.push_back(std::move(size));
    point.wide = false;
    place_window(point, k);
    tasks_.tune(i, k, 20);  // at the middle of the first window, whatever becomes of it
  }

  // Lays the window of size k around point.centre; samples of another window are dropped.
  void place_window(TcPoint& point, std::size_t k) {
    SizeData& size = point.data.sizes[k];
    point.half_width = half_window(config_, point.centre, point.data.p, size.samples.sites) *
                       (point.wide ? kWide : 1);
    size.plan.temperatures =
        config_.temperatures.empty()
            ? window_temperatures(point.centre, point.half_width, point.wide ? kWideCount : 6)
            : config_.temperatures;
    size.samples.grid = temperature_grid(size.plan.temperatures.front(),
                                         size.plan.temperatures.back(), kFinePoints);
    size.samples.graphs.clear();
  }

  // Equilibration, cycles per measurement, measurements.
  void choose_plan(std::size_t k, const Who& who, double later) {
    tasks_.find_times(tasks_.cells(who, k, tasks_.first_graphs(k)), later, 400,
                      TaskRunner::At::middle);
    tasks_.expect(tasks_.seconds_of_size(k, who), tasks_.seconds_from(k + 1, who));
  }

  // Moves windows until the crossing with the size before is well inside; whether none had to be.
  bool settle(std::size_t k, const Who& who) {
    if (k == 0) return false;
    for (int move = 0; move <= kMostMoves; ++move) {
      std::vector<WindowShift> shifts(who.size());
      {
        const profile::Span span(profile::Work::analysis, "windows");
        for_each_point(who, [&](std::size_t n) { shifts[n] = wanted_of(point(who[n]), k, move); });
      }
      Who moved;
      for (std::size_t n = 0; n < who.size(); ++n) {
        TcPoint& at = point(who[n]);
        if (shifts[n].settled) {
          at.centre += shifts[n].shift;  // the best estimate so far is the next centre
          at.data.window.clear();
        } else if (move == kMostMoves) {
          at.data.window = fmt::format(
              "{}: no window was found with the crossing well inside; give "
              "sampling.temperatures",
              extents_text(tasks_.extents(k)));
        } else {
          move_window(at, k, shifts[n].shift);
          moved.push_back(who[n]);
        }
      }
      if (moved.empty()) return move == 0;
      const std::uint32_t pilots = std::min(tasks_.first_graphs(k), kPilotGraphs);
      tasks_.expect_more(tasks_.seconds_to_fill(tasks_.cells(moved, k, pilots)));
      if (k < config_.sizes.size()) {
        const std::uint32_t before = tasks_.first_graphs(k - 1);
        tasks_.expect_more(tasks_.seconds_to_fill(tasks_.cells(moved, k - 1, before)));
        fill(k - 1, before, moved);
      }
      fill(k, pilots, moved);
    }
    return false;
  }

  // Where the window of size k should lie after so many moves.
  WindowShift wanted_of(TcPoint& at, std::size_t k, int move) const {
    const auto& sizes = at.data.sizes;
    const auto &small = sizes[k - 1].samples, &large = sizes[k].samples;
    WindowShift wanted = wanted_shift(at.data.p, small, large, at.centre, at.half_width);
    // Where the search may do more than the versions did whose studies fix the equilibration.
    if (!config_.equilibrate && at.data.p > 0 && (move < kMostMoves || !wanted.settled)) {
      const bool limit = config_.model.kind == ModelKind::ising && move < kMovesForLimit;
      const double most = limit ? at.half_width * (at.wide ? 1 : kWide) : 0;
      wanted = wanted_shift_of_both(small, large, at.centre, at.half_width, most);
      if (!wanted.settled && at.wide) wanted.wider = false;
      at.wide = at.wide || wanted.wider;
    }
    return wanted;
  }

  // f(number in `who`), some milliseconds each: side by side, or, where they are few, one after the
  // other, each by all cores.
  template <class F>
  void for_each_point(const Who& who, const F& f) const {
    constexpr std::size_t work = 5'000'000;
    const bool many = 2 * who.size() > static_cast<std::size_t>(study_.threads());
    if (many) return on_all_cores(who.size(), who.size() * work, f);
    for (std::size_t n = 0; n < who.size(); ++n) f(n);
  }

  // The window of the size before follows where it would no longer cover the crossing, unless a
  // target has filled it with graphs.
  void move_window(TcPoint& point, std::size_t k, double shift) {
    point.centre += std::clamp(shift, -1.2 * point.half_width, 1.2 * point.half_width);
    const Eigen::ArrayXd& before = point.data.sizes[k - 1].samples.grid;
    const double middle = 0.5 * (before(0) + before(before.size() - 1));
    const double half = before(before.size() - 1) - middle;
    if (std::abs(point.centre - middle) > kInside * half && k < config_.sizes.size()) {
      place_window(point, k - 1);
    }
    place_window(point, k);
  }

  // Under a target_error: each round asks tc_target for every p what to add, and adds it for all of
  // them together, until each p has reached the target or cannot. It starts from all graphs that
  // the round before asked for, measured as it asked, whatever more the folder may hold: processes
  // that share it, or come back to it, go through the same rounds.
  void run_rounds(const OnRound& on_round) {
    for (TcPoint& at : tasks_.points) {
      at.data.target.emplace();
      at.data.target->asked = *config_.target_error;
    }
    // Still to be brought to the target; of those without sizes the first step says why they are
    // not.
    Who open(tasks_.points.size());
    std::iota(open.begin(), open.end(), std::size_t{0});
    std::vector<TargetStep> steps(tasks_.points.size());
    while (true) {
      {
        const profile::Span span(profile::Work::analysis, "target");
        for_each_point(
            open, [&](std::size_t n) { steps[open[n]] = next_step(config_, point(open[n]).data); });
      }
      for (const auto i : open) note(point(i).data, steps[i]);
      std::erase_if(open,
                    [&](std::size_t i) { return steps[i].reached || !steps[i].stopped.empty(); });
      on_round(tasks_.computed_some(), open.empty());
      if (open.empty()) return;
      add(open, steps);
    }
  }

  static void note(PointData& point, const TargetStep& step) {
    TargetState& state = *point.target;
    state.reached = step.error;
    state.done = step.reached;
    state.stopped = step.stopped;
    state.sizes.resize(point.sizes.size());
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      state.sizes[k].share = step.sizes[k].share;
      state.sizes[k].thermal = step.sizes[k].thermal;
      if (state.rounds > 0) continue;
      state.sizes[k].graphs_before =
          static_cast<std::uint32_t>(point.sizes[k].samples.graphs.size());
      state.sizes[k].measurements_before = point.sizes[k].plan.measure;
    }
  }

  // Graphs and measurements that the steps ask for, and sizes.
  void add(const Who& open, const std::vector<TargetStep>& steps) {
    std::vector<std::string> errors;
    double left = 0;  // seconds on one core to the target
    for (const auto i : open) {
      double done = 0;
      for (std::size_t k = 0; k < point(i).data.sizes.size(); ++k) {
        done += seconds_done(tasks_.cell(i, k));
      }
      left += steps[i].work_left * done;
      errors.push_back(
          fmt::format("{:.2g} at p = {}", steps[i].error, number_text(point(i).data.p)));
    }
    tasks_.begin_round(fmt::format("{};", fmt::join(errors, ", ")), left);
    std::vector<SizeCell> cells;
    std::map<std::size_t, Who> growing;  // size -> points
    for (const auto i : open) {
      PointData& at = point(i).data;
      ++at.target->rounds;
      if (steps[i].another_size) {
        growing[at.sizes.size()].push_back(i);
        continue;
      }
      for (std::size_t k = 0; k < at.sizes.size(); ++k) {
        at.sizes[k].plan = steps[i].plans[k];
        cells.push_back(tasks_.cell(i, k, steps[i].graphs[k]));
      }
    }
    const double seconds = tasks_.fill(cells);
    tasks_.expect(seconds, std::max(left - seconds, 0.0), false);
    for (const auto& [size, points] : growing) add_size(size, points);
  }

  Study& study_;
  TcTasks tasks_;
  const StudyConfig& config_;
  Who all_;
};

// The p that are searched together, by so many searches side by side: on a CPU, whose threads the
// last tasks of a step would leave idle. A device is filled by tasks of several p in the same
// launches, and schedules are chosen by the speed of a machine that has nothing else to do.
std::vector<std::vector<std::size_t>> parts_of(const Study& study) {
  constexpr std::size_t most = 4;
  const std::size_t points = study.config().p.size();
  const bool beside = study.devices().front() < 0 && study.config().schedule.has_value();
  const auto threads = static_cast<std::size_t>(study.threads());
  std::vector<std::vector<std::size_t>> parts(beside ? std::min({points, threads, most}) : 1);
  for (std::size_t i = 0; i < points; ++i) parts[i % parts.size()].push_back(i);
  return parts;
}

}  // namespace

void check_tc_config(const StudyConfig& config, const std::string& file) {
  const auto one = [&](std::size_t count, const char* key) {
    if (count <= 1) return;
    throw Error(ExitCode::usage,
                fmt::format("{}: {}: tc takes one, not {} (sweep takes lists)", file, key, count));
  };
  if (!config.files.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("{}: lattice.files: is for sweep; tc needs lattices of several sizes "
                            "(dim, sizes and p), over which it follows Tc",
                            file));
  }
  one(config.dims().size(), "lattice.dim");
  one(config.rules.size(), "lattice.rule");
  if (!config.temperature_tasks.empty()) {
    throw Error(ExitCode::usage, fmt::format("{}: sampling.temperature_tasks: is for sweep", file));
  }
  if (!config.target_observables.empty()) {
    throw Error(
        ExitCode::usage,
        fmt::format("{}: sampling.target_observables: is for sweep (tc's target is Tc)", file));
  }
  if (by_peaks(config)) check_peaks_config(config, file);
  if (config.method == TcMethod::tree) {
    if (const std::string why = tree_refusal(config); !why.empty()) {
      throw Error(
          ExitCode::usage,
          fmt::format("{}: sampling.method: the tree condition does not apply: {} (allowed: "
                      "crossings)",
                      file, why));
    }
    return;
  }
  if (config.sizes.size() < 2) {
    throw Error(ExitCode::usage,
                file + ": lattice.sizes: tc needs two sizes or more, whose curves cross");
  }
  if (*std::min_element(config.graphs.begin(), config.graphs.end()) < 2) {
    throw Error(ExitCode::usage, file +
                                     ": lattice.graphs: tc needs two graphs or more of each size, "
                                     "whose spread is the error");
  }
  if (config.temperatures.size() == 1) {
    throw Error(ExitCode::usage,
                file + ": sampling.temperatures: tc needs two temperatures or more, or \"auto\"");
  }
}

bool crossings_reach(const StudyConfig& config, double p) {
  if (p == 0) return config.dim() > 1;  // else Tc = 0
  constexpr double shortcuts = 100;
  return !config.auto_sizes || site_count(config.sizes.front()) * config.dim() * p >= shortcuts;
}

std::vector<PointData> search_tc(Study& study, const StopToken& stop, Progress& progress,
                                 const TcInterim& interim, const TcInterim& interrupted) {
  const std::vector<std::vector<std::size_t>> parts = parts_of(study);
  std::vector<std::unique_ptr<Search>> searches;
  for (const auto& which : parts) {
    searches.push_back(std::make_unique<Search>(study, stop, progress, which));
  }
  std::vector<PointData> points(study.config().p.size());
  const auto take = [&](std::size_t part) {
    std::vector<PointData> data = searches[part]->so_far();
    for (std::size_t i = 0; i < data.size(); ++i) points[parts[part][i]] = std::move(data[i]);
  };
  // News is kept until all have come to their first round.
  std::mutex mutex;
  std::set<std::size_t> begun;
  std::size_t ended = 0;
  bool news = false;
  const auto look = [&](std::size_t part, bool more, bool last) {
    if (!interim) return;
    const std::lock_guard lock(mutex);
    take(part);
    begun.insert(part);
    ended += last ? 1 : 0;
    news = news || more;
    if (!news || begun.size() < parts.size() || ended == parts.size()) return;
    news = false;
    interim(points);
  };
  std::vector<std::function<void()>> jobs;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    jobs.emplace_back([&, part] {
      searches[part]->run([&, part](bool more, bool last) { look(part, more, last); });
    });
  }
  try {
    side_by_side(study, jobs);
  } catch (const Error& error) {
    for (std::size_t part = 0; part < parts.size(); ++part) take(part);
    if (error.exit_code() == ExitCode::interrupted && interrupted) interrupted(points);
    throw;
  }
  for (std::size_t part = 0; part < parts.size(); ++part) take(part);
  return points;
}

JackknifeCurve observable_curve(int sample, const SizeSamples& samples, int observable) {
  return curve_over_graphs(sample, fine_table(samples), crossing_function(samples, observable),
                           controls(samples));
}

JackknifeCurve thermal_curve(int sample, const SizeSamples& samples, int observable) {
  return changed_curve(sample, fine_table(samples), thermal_table(samples),
                       crossing_function(samples, observable), controls(samples));
}

JackknifeCurve raised_binder(JackknifeCurve curve, const SizeData& size, bool thermal) {
  const std::vector<double>& temperatures = size.plan.temperatures;
  const auto graphs = static_cast<Eigen::Index>(size.samples.graphs.size());
  const auto count = static_cast<Eigen::Index>(temperatures.size());
  Eigen::MatrixXd m2(graphs, count), pair(graphs, count);  // [graph, T]
  for (Eigen::Index g = 0; g < graphs; ++g) {
    const GraphSample& graph = size.samples.graphs[static_cast<std::size_t>(g)];
    m2.row(g) = graph.simulated.col(kM2).matrix().transpose();
    pair.row(g) = graph.m2_pair.matrix().transpose();
  }
  // [fine temperature]; straight lines between the simulated ones.
  const auto raise = [&](const Eigen::RowVectorXd& mean_m2, const Eigen::RowVectorXd& mean_pair) {
    const Eigen::ArrayXd spread = (mean_pair.array() / mean_m2.array().square() - 1).transpose();
    Eigen::RowVectorXd raised(curve.temperature.size());
    Eigen::Index left = 0;
    for (Eigen::Index k = 0; k < raised.size(); ++k) {
      const auto at = [&](Eigen::Index t) { return temperatures[static_cast<std::size_t>(t)]; };
      while (left + 2 < count && at(left + 1) < curve.temperature(k)) ++left;
      const double share = (curve.temperature(k) - at(left)) / (at(left + 1) - at(left));
      raised(k) = binder_lowered_by_spread((1 - share) * spread(left) + share * spread(left + 1));
    }
    return raised;
  };
  const auto n = static_cast<double>(graphs);
  const Eigen::RowVectorXd mean_m2 = m2.colwise().mean(), mean_pair = pair.colwise().mean();
  const Eigen::RowVectorXd raised = raise(mean_m2, mean_pair);
  curve.value += raised.transpose().array();
  for (Eigen::Index g = 0; g < graphs; ++g) {
    curve.left_out.row(g) += (thermal ? raised
                                      : raise((n * mean_m2 - m2.row(g)) / (n - 1),
                                              (n * mean_pair - pair.row(g)) / (n - 1)))
                                 .array();
  }
  return curve;
}

}  // namespace rewise

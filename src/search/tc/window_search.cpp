#include "src/search/tc/window_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>

#include "src/base/all_cores.hpp"
#include "src/results/hot_cold.hpp"
#include "src/search/point_tasks.hpp"
#include "src/search/tc/crossings_analysis.hpp"
#include "src/search/tc/crossings_target.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

constexpr std::uint64_t kScanWarmUp = 60;  // cycles
constexpr std::uint64_t kShortEquilibration = 48, kShortMeasure = 40;
constexpr double kLargeScan = 1 << 17;  // sites from which Swendsen-Wang updates are used at once

// Whether replicas with hot and cold start agree at the temperature closest to the centre.
bool starts_agree(std::span<const ScanResult> sizes, double centre) {
  const std::vector<double>& temperatures = sizes.front().temperatures;
  std::size_t next = 0;
  for (std::size_t t = 0; t < temperatures.size(); ++t) {
    if (std::abs(temperatures[t] - centre) < std::abs(temperatures[next] - centre)) next = t;
  }
  const auto row = static_cast<Eigen::Index>(next);
  return std::ranges::all_of(sizes, [&](const ScanResult& size) {
    std::vector<HotColdDifference> near;
    for (const GraphSample& graph : size.graphs) {
      if (graph.halves.difference.rows() > 0) near.push_back(at_temperature(graph.halves, row));
    }
    return compare_halves(near).agree;
  });
}

// One p, and the window of its last size.
struct WindowState : WindowPoint {
  TcWindow window;
};

// The next size of a series, with even extents: the last ratio of extents, at most 2. Twice the
// last size if the extents would not grow.
std::vector<std::uint32_t> next_size(const std::vector<std::uint32_t>& before,
                                     const std::vector<std::uint32_t>& last) {
  std::vector<std::uint32_t> next;
  for (std::size_t d = 0; d < last.size(); ++d) {
    const double ratio = std::clamp(static_cast<double>(last[d]) / before[d], 1.0, 2.0);
    next.push_back(2 * static_cast<std::uint32_t>(std::lround(last[d] * ratio / 2)));
  }
  if (next == last) {
    for (auto& extent : next) extent *= 2;
  }
  return next;
}

// Search for the subset `which` of the configuration's p.
class WindowSearch {
 public:
  WindowSearch(Study& study, const StopToken& stop, Progress& progress,
               const WindowCriterion& criterion, std::span<const std::size_t> which)
      : study_(study),
        tasks_(study, stop, progress, kTcStudy),
        config_(study.config()),
        criterion_(criterion) {
    for (const std::size_t i : which) {
      WindowState& point = points_.emplace_back();
      point.p = config_.p[i];
      point.dim = config_.dim();
      point.rule = config_.rule();
      point.schedule = config_.schedule_of(i);
      point.cluster = config_.cluster_of(i);
      if (criterion_.reaches(point.p)) all_.push_back(points_.size() - 1);
    }
    for (std::size_t k = 0; k < config_.sizes.size(); ++k) {
      sizes_.push_back(empty_size(config_.sizes[k], first_graphs(config_, k)));
    }
  }

  // Called before each round of a target and after the last one. `new_results`: some were computed;
  // `ended`: no work is left.
  using OnRound = std::function<void(bool new_results, bool ended)>;

  void run(const OnRound& on_round) {
    if (config_.temperatures.empty()) scan();
    grow(0, config_.sizes.size(), all_);
    if (config_.target_error) run_target(on_round);
    tasks_.stage("");
    tasks_.expect(0, 0);
  }

  std::vector<WindowPoint> so_far() const { return {points_.begin(), points_.end()}; }

 private:
  using Points = std::vector<std::size_t>;  // indices of points

  // Size number `k` of the study or of the sizes that targets added.
  const SizeData& size(std::size_t k) {
    while (sizes_.size() <= k) {
      const std::size_t last = sizes_.size() - 1;
      sizes_.push_back(empty_size(next_size(sizes_[last - 1].extents, sizes_[last].extents),
                                  first_graphs(config_, last + 1)));
    }
    return sizes_[k];
  }
  SizePlan first_plan(const StudyPoint& point, std::size_t k) {
    return rewise::first_plan(point.schedule, point.cluster, point.p, size(k).samples.sites);
  }

  std::vector<SizeJob> jobs(const Points& points, std::size_t k, std::uint32_t graphs) {
    std::vector<SizeJob> all;
    for (const std::size_t i : points) all.push_back({&points_[i], k, graphs});
    return all;
  }
  // Expected seconds on one core for the initial graphs of the study's sizes from size k on.
  double seconds_from(std::size_t k, const Points& points) {
    double seconds = 0;
    for (const std::size_t i : points) {
      seconds += tasks_.seconds_from(points_[i], std::span(sizes_).first(config_.sizes.size()), k);
    }
    return seconds;
  }

  // Sets the windows of the points to the estimates of the coarse scan, with a warning if nothing
  // was found. If the criterion allows it, scans the likely range of Tc first, and repeats the scan
  // with Swendsen-Wang updates if hot and cold starts disagree at the estimate.
  void scan() {
    tasks_.stage("coarse scan");
    const auto whole = [&](double p) { return scan_range(config_, p); };
    const auto likely = [&](double p) { return likely_range(config_, p); };
    Points lost;
    if (!criterion_.rules.adaptive_scan) {
      lost = scan(all_, whole, false, false).lost;
    } else {
      // On large lattices, local updates and single clusters equilibrate slowly.
      const bool may_warm = has(config_.engine, ClusterUpdate::swendsen_wang);
      const bool large = scan_sites() > kLargeScan;
      const ScanOutcome first = scan(all_, likely, may_warm && large, may_warm);
      lost = first.lost;
      if (may_warm && !large && !first.unsettled.empty()) {
        std::erase_if(lost, [&](std::size_t i) {
          return std::ranges::find(first.unsettled, i) != first.unsettled.end();
        });
        const Points still = scan(first.unsettled, likely, true, true).lost;
        lost.insert(lost.end(), still.begin(), still.end());
        std::ranges::sort(lost);
      }
      if (!lost.empty()) lost = scan(lost, whole, may_warm, false).lost;
    }
    for (const std::size_t i : lost) {
      points_[i].warnings.emplace_back(
          "the coarse scan found no crossing of U; the search began where U = 0.4");
    }
  }

  struct ScanOutcome {
    Points lost;       // no estimate was found
    Points unsettled;  // hot and cold starts disagree at the estimate
  };

  // `warm`: uses Swendsen-Wang updates, which equilibrate at any temperature. `brief`: fewer
  // cycles, because unsettled points will be scanned again.
  ScanOutcome scan(const Points& points, const std::function<TemperatureRange(double p)>& range,
                   bool warm, bool brief) {
    const std::size_t sizes = criterion_.rules.sizes;
    std::vector<ScanJob> jobs;
    for (const std::size_t i : points) {
      for (std::size_t k = 0; k < sizes; ++k) {
        SizePlan plan = scan_plan(first_plan(points_[i], k), range(points_[i].p), scan_sites());
        if (brief) {
          plan.equilibrate = kShortEquilibration;
          plan.measure = kShortMeasure;
        }
        if (warm) {
          plan.warm_up.cycles = kScanWarmUp;
          plan.cluster = ClusterUpdate::swendsen_wang;
          plan.schedule = {1, 1};
          plan.equilibrate = 0;
          plan.every = 1;
        }
        jobs.push_back({&points_[i], &size(k), k, plan});
      }
    }
    const std::vector<ScanResult> results = tasks_.scan(jobs, seconds_from(0, points));
    ScanOutcome outcome;
    for (std::size_t n = 0; n < points.size(); ++n) {
      const std::span point_results(&results[n * sizes], sizes);
      const ScanDecision decision = criterion_.locate(point_results);
      points_[points[n]].window.centre = decision.centre;
      if (!decision.found) outcome.lost.push_back(points[n]);
      if (!starts_agree(point_results, decision.centre)) outcome.unsettled.push_back(points[n]);
    }
    return outcome;
  }

  // Number of sites of the largest scanned size.
  double scan_sites() { return size(criterion_.rules.sizes - 1).samples.sites; }

  // Processes sizes [first, end) of these points in sequence, up to their initial graphs. Once the
  // window of a size is known, its remaining graphs do not affect the next window. They run
  // together with the next size's pilots and first graphs and use otherwise idle threads. The last
  // size runs all its graphs at once if earlier windows did not have to move.
  void grow(std::size_t first, std::size_t end, const Points& points) {
    const auto rest = [&](std::size_t k) { fill(k, size(k).first_graphs, points); };
    bool held = !config_.temperatures.empty() && criterion_.rules.windows_stay;
    for (std::size_t k = first; k < end; ++k) {
      tasks_.stage(size_text(size(k)));
      for (const auto i : points) open_size(i, k);
      std::vector<std::function<void()>> jobs = {
          [&, later = seconds_from(k, points), whole = held && k + 1 == end] {
            begin_size(k, points, later, whole);
          }};
      if (k > first) jobs.emplace_back([&] { rest(k - 1); });
      side_by_side(study_, jobs);
      if (config_.temperatures.empty()) held = settle(k, points) && criterion_.rules.windows_stay;
    }
    if (end > first) rest(end - 1);
  }

  // Determines the times of an open size and runs the graphs that test its window, or all initial
  // graphs. `later`: seconds of all following work, on one core.
  void begin_size(std::size_t k, const Points& points, double later, bool whole) {
    const std::uint32_t graphs = size(k).first_graphs;
    const std::vector<SizeJob> all = jobs(points, k, graphs);
    tasks_.find_times(all, later);
    double now = 0;
    for (const SizeJob& job : all) {
      criterion_.adjust(job.size().plan, job.point->p);
      now += tasks_.seconds_of(job);
    }
    tasks_.expect(now, seconds_from(k + 1, points));
    fill(k, whole ? graphs : std::min(graphs, kPilotGraphs), points);
  }

  // Adds a size larger than those of the study. Tc, or the last crossing, determines its window.
  void add_size(std::size_t k, const Points& points) {
    for (const auto i : points) {
      const auto found = locate_tc(config_, points_[i]).candidate();
      if (found) points_[i].window.centre = found->value;
    }
    grow(k, k + 1, points);
  }

  void fill(std::size_t k, std::uint32_t graphs, const Points& points) {
    tasks_.fill(jobs(points, k, graphs));
  }

  void open_size(std::size_t i, std::size_t k) {
    WindowState& point = points_[i];
    if (config_.temperatures.empty()) {
      point.window = criterion_.first_window(point, k, size(k).samples.sites, point.window);
    }
    point.sizes.push_back(size(k));
    point.sizes[k].plan = first_plan(point, k);
    lay_window(point, k, point.window);
    // Tunes at the middle of the first window, even if the window moves later.
    SizePlan likely = point.sizes[k].plan;
    likely.equilibrate = 60;
    likely.measure = criterion_.rules.measurements;
    likely.every = 5;
    tasks_.tune({&point, k, size(k).first_graphs}, likely);
  }

  // Sets the temperatures of a size; drops samples of another window.
  void lay_window(StudyPoint& point, std::size_t k, const TcWindow& window) {
    constexpr int count = 6, wide_count = 10;
    SizeData& size = point.sizes[k];
    size.plan.temperatures = config_.temperatures.empty()
                                 ? window_temperatures(window.centre, window.half_width,
                                                       window.wide ? wide_count : count)
                                 : config_.temperatures;
    size.samples.grid =
        temperature_grid(size.plan.temperatures.front(), size.plan.temperatures.back(),
                         criterion_.rules.grid_points);
    criterion_.prepare(size, point.p);
    size.samples.graphs.clear();
  }

  // Moves windows until the criterion accepts them. Returns whether no window had to move.
  bool settle(std::size_t k, const Points& points) {
    if (k + 1 < criterion_.rules.sizes) return false;
    for (int move = 0; move <= criterion_.rules.most_moves; ++move) {
      std::vector<WindowDecision> decisions(points.size());
      for_each_point(points, [&](std::size_t n) {
        const WindowState& at = points_[points[n]];
        decisions[n] = criterion_.decide(at, k, at.window, move);
      });
      Points moved;
      for (std::size_t n = 0; n < points.size(); ++n) {
        WindowState& at = points_[points[n]];
        if (decisions[n].settled) {
          at.window = decisions[n].next;
          at.no_window.clear();
        } else if (move == criterion_.rules.most_moves) {
          criterion_.give_up(at, size_text(size(k)));
        } else {
          at.window = decisions[n].next;
          const auto before = k > 0 ? criterion_.follow(at, k, at.window) : std::nullopt;
          if (before) {
            tasks_.abandon({&at, k - 1});
            lay_window(at, k - 1, *before);
          }
          tasks_.abandon({&at, k});
          lay_window(at, k, at.window);
          moved.push_back(points[n]);
        }
      }
      if (moved.empty()) return move == 0;
      refill(k, moved);
    }
    return false;
  }

  // Runs the pilot graphs of moved windows, and all graphs of the previous size, whose windows may
  // have moved as well.
  void refill(std::size_t k, const Points& moved) {
    const std::uint32_t pilots = std::min(size(k).first_graphs, kPilotGraphs);
    tasks_.expect_more(tasks_.seconds_to_fill(jobs(moved, k, pilots)));
    if (k > 0 && k < config_.sizes.size()) {
      const std::uint32_t before = size(k - 1).first_graphs;
      tasks_.expect_more(tasks_.seconds_to_fill(jobs(moved, k - 1, before)));
      fill(k - 1, before, moved);
    }
    fill(k, pilots, moved);
  }

  // Calls f(n) for each index n of `items`; a call takes some milliseconds. Many items run
  // concurrently. Few items run one after the other, each on all cores.
  template <class Items, class F>
  void for_each_point(const Items& items, const F& f) const {
    constexpr std::size_t work = 5'000'000;
    const bool many = 2 * items.size() > static_cast<std::size_t>(study_.threads());
    if (many) return on_all_cores(items.size(), items.size() * work, f);
    for (std::size_t n = 0; n < items.size(); ++n) f(n);
  }

  struct Open {
    std::size_t point = 0;
    GrowthStep step;
  };

  // Runs rounds until each p has reached target_error or cannot.
  void run_target(const OnRound& on_round) {
    std::vector<Open> open;  // the first step of a point without sizes gives the reason
    for (std::size_t i = 0; i < points_.size(); ++i) {
      points_[i].target.emplace().requested = *config_.target_error;
      open.push_back({i, {}});
    }
    run_rounds(
        std::move(open),
        [&](std::vector<Open>& items) {
          for_each_point(items, [&](std::size_t n) {
            items[n].step = next_step(config_, points_[items[n].point]);
          });
          for (const Open& one : items) note(points_[one.point], one.step);
        },
        [&](bool ended) { on_round(tasks_.computed_some(), ended); },
        [&](const std::vector<Open>& items) { add(items); });
  }

  static void note(WindowPoint& point, const GrowthStep& step) {
    point.target->note(step);
    point.size_targets.resize(point.sizes.size());
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      SizeTarget& size = point.size_targets[k];
      size.share = step.share[k];
      size.thermal = step.thermal[k];
      if (point.target->rounds == 0) size.before = SizeBefore(point.sizes[k]);
    }
  }

  // Adds the graphs, measurements and sizes of the steps.
  void add(const std::vector<Open>& open) {
    std::vector<std::string> errors;
    double left = 0;  // seconds on one core to the target
    std::vector<SizeJob> jobs;
    std::map<std::size_t, Points> growing;  // size -> points
    for (const auto& [i, step] : open) {
      WindowState& at = points_[i];
      double done = 0;
      for (std::size_t k = 0; k < at.sizes.size(); ++k) done += tasks_.seconds_done(at, k);
      left += step.work_left * done;
      const std::string error =
          std::isfinite(step.error) ? fmt::format("{:.2g}", step.error) : "unknown";
      errors.push_back(fmt::format("{} at p = {}", error, number_text(at.p)));
      ++at.target->rounds;
      if (step.another_size) {
        growing[at.sizes.size()].push_back(i);
        continue;
      }
      for (std::size_t k = 0; k < at.sizes.size(); ++k) {
        at.sizes[k].plan.measure = static_cast<std::uint64_t>(step.measurements[k]);
        jobs.push_back({&at, k, static_cast<std::uint32_t>(step.members[k])});
      }
    }
    tasks_.fill_round(fmt::format("{};", fmt::join(errors, ", ")), jobs, left);
    for (const auto& [size, points] : growing) add_size(size, points);
  }

  Study& study_;
  PointTasks tasks_;
  const StudyConfig& config_;
  const WindowCriterion& criterion_;
  std::vector<WindowState> points_;
  Points all_;                   // that crossings or peaks reach
  std::vector<SizeData> sizes_;  // without samples
};

// Divides the p among concurrent searches, so that no CPU thread is idle during the last tasks of a
// step. There is a single search on a device, which tasks of several p fill in one launch, and with
// an automatic schedule, because tuning needs an otherwise idle machine.
std::vector<std::vector<std::size_t>> parts_of(const Study& study) {
  constexpr std::size_t most = 4;
  const std::size_t points = study.config().p.size();
  const bool beside = study.devices().front() < 0 && study.config().schedule().has_value();
  const auto threads = static_cast<std::size_t>(study.threads());
  std::vector<std::vector<std::size_t>> parts(beside ? std::min({points, threads, most}) : 1);
  for (std::size_t i = 0; i < points; ++i) parts[i % parts.size()].push_back(i);
  return parts;
}

// Keeps measured graphs, sizes with at least two of them, and p with at least two such sizes.
std::vector<WindowPoint> finished_part(std::vector<WindowPoint> points) {
  for (WindowPoint& point : points) {
    const auto begun = std::ranges::find_if(
        point.sizes, [](SizeData& size) { return drop_unmeasured(size.samples) < 2; });
    point.sizes.erase(begun, point.sizes.end());
    point.size_targets.resize(std::min(point.size_targets.size(), point.sizes.size()));
  }
  std::erase_if(points, [](const WindowPoint& point) { return point.sizes.size() < 2; });
  return points;
}

}  // namespace

std::vector<WindowPoint> search_windows(Study& study, const StopToken& stop, Progress& progress,
                                        const WindowCriterion& criterion,
                                        const DataHandlers<std::vector<WindowPoint>>& seen) {
  const std::vector<std::vector<std::size_t>> parts = parts_of(study);
  std::vector<std::unique_ptr<WindowSearch>> searches;
  for (const auto& which : parts) {
    searches.push_back(std::make_unique<WindowSearch>(study, stop, progress, criterion, which));
  }
  std::vector<WindowPoint> points(study.config().p.size());
  const auto take = [&](std::size_t part) {
    std::vector<WindowPoint> data = searches[part]->so_far();
    for (std::size_t i = 0; i < data.size(); ++i) points[parts[part][i]] = std::move(data[i]);
  };
  const auto take_all = [&] {
    for (std::size_t part = 0; part < parts.size(); ++part) take(part);
    return std::move(points);
  };
  // New results are reported once all searches have begun their first round.
  std::mutex mutex;
  std::set<std::size_t> begun;
  std::size_t ended = 0;
  bool new_results = false;
  const auto look = [&](std::size_t part, bool more, bool last) {
    if (!seen.interim) return;
    const std::lock_guard lock(mutex);
    take(part);
    begun.insert(part);
    ended += last ? 1 : 0;
    new_results = new_results || more;
    if (!new_results || begun.size() < parts.size() || ended == parts.size()) return;
    new_results = false;
    seen.interim(points);
  };
  std::vector<std::function<void()>> jobs;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    jobs.emplace_back([&, part] {
      searches[part]->run([&, part](bool more, bool last) { look(part, more, last); });
    });
  }
  const auto search = [&] {
    side_by_side(study, jobs);
    return take_all();
  };
  return interruptible(seen, search, [&] { return finished_part(take_all()); });
}

}  // namespace rewise

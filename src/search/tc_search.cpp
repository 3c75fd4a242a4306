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

#include "src/base/all_cores.hpp"
#include "src/base/error.hpp"
#include "src/results/hot_cold.hpp"
#include "src/search/glass_tc.hpp"
#include "src/search/peaks.hpp"
#include "src/search/tc_analysis.hpp"
#include "src/search/tc_target.hpp"
#include "src/search/tc_tasks.hpp"
#include "src/search/tree_search.hpp"
#include "src/search/window_criterion.hpp"
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
      HotColdDifference one = graph.halves;
      if (one.difference.rows() == 0) continue;
      one.difference = one.difference.row(row).eval();
      one.variance = one.variance.row(row).eval();
      near.push_back(std::move(one));
    }
    return compare_halves(near).agree;
  });
}

// Search for the subset `which` of the configuration's p.
class WindowSearch {
 public:
  WindowSearch(Study& study, const StopToken& stop, Progress& progress,
               std::span<const std::size_t> which)
      : study_(study),
        tasks_(study, stop, progress, which),
        config_(study.config()),
        criterion_(by_peaks(config_) ? peaks_criterion(config_) : crossings_criterion(config_)) {
    for (std::size_t i = 0; i < tasks_.points.size(); ++i) {
      if (crossings_reach(config_, point(i).data.p)) all_.push_back(i);
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

  std::vector<TcData> so_far() const {
    std::vector<TcData> data;
    for (const auto& point : tasks_.points) data.push_back(point.data);
    return data;
  }

 private:
  using Points = std::vector<std::size_t>;  // indices of points

  TcSearchState& point(std::size_t i) { return tasks_.points[i]; }

  // Sets the windows of the points to the estimates of the coarse scan, with a warning if nothing
  // was found. If the criterion allows it, scans the likely range of Tc first, and repeats the scan
  // with Swendsen-Wang updates if hot and cold starts disagree at the estimate.
  void scan() {
    tasks_.stage("coarse scan");
    const auto whole = [&](double p) { return scan_range(config_, p); };
    const auto likely = [&](double p) { return likely_range(config_, p); };
    Points lost;
    if (!criterion_->adaptive_scan()) {
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
      point(i).data.warnings.emplace_back(
          "the coarse scan found no crossing of U; the search began where U = 0.4");
    }
  }

  struct ScanOutcome {
    Points lost;       // no estimate was found
    Points unsettled;  // hot and cold starts disagree at the estimate
  };

  // `warm`: uses Swendsen-Wang updates, which equilibrate at any temperature. `brief`: fewer
  // cycles, because unsettled points will be scanned again.
  ScanOutcome scan(const Points& points, const std::function<Range(double p)>& range, bool warm,
                   bool brief) {
    const std::size_t sizes = criterion_->scan_sizes();
    std::vector<ScanJob> jobs;
    for (const std::size_t i : points) {
      for (std::size_t k = 0; k < sizes; ++k) {
        SizePlan plan =
            scan_plan(tasks_.first_plan(point(i), k), range(point(i).data.p), scan_sites());
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
        jobs.push_back({plan, tasks_.task_at(i, k)});
      }
    }
    const std::vector<ScanResult> results = tasks_.scan(jobs, tasks_.seconds_from(0, points));
    ScanOutcome outcome;
    for (std::size_t n = 0; n < points.size(); ++n) {
      const std::span of_point(&results[n * sizes], sizes);
      const ScanDecision decision = criterion_->locate(of_point);
      point(points[n]).window.centre = decision.centre;
      if (!decision.found) outcome.lost.push_back(points[n]);
      if (!starts_agree(of_point, decision.centre)) outcome.unsettled.push_back(points[n]);
    }
    return outcome;
  }

  // Number of sites of the largest scanned size.
  double scan_sites() { return site_count(tasks_.extents(criterion_->scan_sizes() - 1)); }

  // Processes sizes [first, end) of these points in sequence, up to their initial graphs. Once the
  // window of a size is known, its remaining graphs do not affect the next window. They run
  // together with the next size's pilots and first graphs and use otherwise idle threads. The last
  // size runs all its graphs at once if earlier windows did not have to move.
  void grow(std::size_t first, std::size_t end, const Points& points) {
    const auto rest = [&](std::size_t k) { fill(k, tasks_.first_graphs(k), points); };
    bool held = !config_.temperatures.empty() && criterion_->windows_last();
    for (std::size_t k = first; k < end; ++k) {
      tasks_.stage(extents_text(tasks_.extents(k)));
      for (const auto i : points) open_size(i, k);
      std::vector<std::function<void()>> jobs = {
          [&, later = tasks_.seconds_from(k, points), whole = held && k + 1 == end] {
            begin_size(k, points, later, whole);
          }};
      if (k > first) jobs.emplace_back([&] { rest(k - 1); });
      side_by_side(study_, jobs);
      if (config_.temperatures.empty()) held = settle(k, points) && criterion_->windows_last();
    }
    if (end > first) rest(end - 1);
  }

  // Determines the times of an open size and runs the graphs that test its window, or all initial
  // graphs. `later`: seconds of all following work, on one core.
  void begin_size(std::size_t k, const Points& points, double later, bool whole) {
    const std::uint32_t graphs = tasks_.first_graphs(k);
    tasks_.find_times(tasks_.jobs(points, k, graphs), later);
    for (const auto i : points) {
      criterion_->adjust(point(i).data.sizes[k].plan, point(i).data.p);
    }
    tasks_.expect(tasks_.seconds_of_size(k, points), tasks_.seconds_from(k + 1, points));
    fill(k, whole ? graphs : std::min(graphs, kPilotGraphs), points);
  }

  // Adds a size larger than those of the study. Tc, or the last crossing, determines its window.
  void add_size(std::size_t k, const Points& points) {
    for (const auto i : points) {
      const auto found = locate_tc(config_, point(i).data).candidate();
      if (found) point(i).window.centre = found->value;
    }
    grow(k, k + 1, points);
  }

  void fill(std::size_t k, std::uint32_t graphs, const Points& points) {
    tasks_.fill(tasks_.jobs(points, k, graphs));
  }

  void open_size(std::size_t i, std::size_t k) {
    TcData& data = point(i).data;
    const double sites = site_count(tasks_.extents(k));
    if (config_.temperatures.empty()) {
      point(i).window = criterion_->first_window(data, k, sites, point(i).window);
    }
    data.sizes.push_back(tasks_.new_size(point(i), k));
    lay_window(data, k, point(i).window);
    // Tunes at the middle of the first window, even if the window moves later.
    tasks_.tune(i, k, criterion_->likely_measurements());
  }

  // Sets the temperatures of a size; drops samples of another window.
  void lay_window(TcData& data, std::size_t k, const TcWindow& window) {
    constexpr int count = 6, wide_count = 10;
    SizeData& size = data.sizes[k];
    size.plan.temperatures = config_.temperatures.empty()
                                 ? window_temperatures(window.centre, window.half_width,
                                                       window.wide ? wide_count : count)
                                 : config_.temperatures;
    size.samples.grid = temperature_grid(size.plan.temperatures.front(),
                                         size.plan.temperatures.back(), criterion_->grid_points());
    criterion_->prepare(size, data.p);
    size.samples.graphs.clear();
  }

  // Moves windows until the criterion accepts them. Returns whether no window had to move.
  bool settle(std::size_t k, const Points& points) {
    if (k < criterion_->first_decided()) return false;
    for (int move = 0; move <= criterion_->most_moves(); ++move) {
      std::vector<WindowDecision> decisions(points.size());
      for_each_point(points, [&](std::size_t n) {
        const TcSearchState& at = point(points[n]);
        decisions[n] = criterion_->decide(at.data, k, at.window, move);
      });
      Points moved;
      for (std::size_t n = 0; n < points.size(); ++n) {
        TcSearchState& at = point(points[n]);
        if (decisions[n].settled) {
          at.window = decisions[n].next;
          at.data.window.clear();
        } else if (move == criterion_->most_moves()) {
          criterion_->give_up(at.data, extents_text(tasks_.extents(k)));
        } else {
          at.window = decisions[n].next;
          const auto before = k > 0 ? criterion_->follow(at.data, k, at.window) : std::nullopt;
          if (before) {
            tasks_.abandon(tasks_.job(points[n], k - 1));
            lay_window(at.data, k - 1, *before);
          }
          tasks_.abandon(tasks_.job(points[n], k));
          lay_window(at.data, k, at.window);
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
    const std::uint32_t pilots = std::min(tasks_.first_graphs(k), kPilotGraphs);
    tasks_.expect_more(tasks_.seconds_to_fill(tasks_.jobs(moved, k, pilots)));
    if (k > 0 && k < config_.sizes.size()) {
      const std::uint32_t before = tasks_.first_graphs(k - 1);
      tasks_.expect_more(tasks_.seconds_to_fill(tasks_.jobs(moved, k - 1, before)));
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
    TargetStep step;
  };

  // Runs rounds until each p has reached target_error or cannot.
  void run_target(const OnRound& on_round) {
    std::vector<Open> open;  // the first step of a point without sizes gives the reason
    for (std::size_t i = 0; i < tasks_.points.size(); ++i) {
      point(i).data.target.emplace().requested = *config_.target_error;
      open.push_back({i, {}});
    }
    run_rounds(
        std::move(open),
        [&](std::vector<Open>& items) {
          for_each_point(items, [&](std::size_t n) {
            items[n].step = next_step(config_, point(items[n].point).data);
          });
          for (const Open& one : items) note(point(one.point).data, one.step);
        },
        [&](bool ended) { on_round(tasks_.computed_some(), ended); },
        [&](const std::vector<Open>& items) { add(items); });
  }

  static void note(TcData& point, const TargetStep& step) {
    TargetState& state = *point.target;
    state.note(step);
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

  // Adds the graphs, measurements and sizes of the steps.
  void add(const std::vector<Open>& open) {
    std::vector<std::string> errors;
    double left = 0;  // seconds on one core to the target
    for (const auto& [i, step] : open) {
      double done = 0;
      for (std::size_t k = 0; k < point(i).data.sizes.size(); ++k) {
        done += seconds_done(tasks_.job(i, k));
      }
      left += step.work_left * done;
      const std::string error =
          std::isfinite(step.error) ? fmt::format("{:.2g}", step.error) : "unknown";
      errors.push_back(fmt::format("{} at p = {}", error, number_text(point(i).data.p)));
    }
    tasks_.begin_round(fmt::format("{};", fmt::join(errors, ", ")), left);
    std::vector<SizeJob> jobs;
    std::map<std::size_t, Points> growing;  // size -> points
    for (const auto& [i, step] : open) {
      TcData& at = point(i).data;
      ++at.target->rounds;
      if (step.another_size) {
        growing[at.sizes.size()].push_back(i);
        continue;
      }
      for (std::size_t k = 0; k < at.sizes.size(); ++k) {
        at.sizes[k].plan = step.plans[k];
        jobs.push_back(tasks_.job(i, k, step.graphs[k]));
      }
    }
    const double seconds = tasks_.fill(jobs);
    tasks_.expect(seconds, std::max(left - seconds, 0.0), false);
    for (const auto& [size, points] : growing) add_size(size, points);
  }

  Study& study_;
  TcTasks tasks_;
  const StudyConfig& config_;
  std::unique_ptr<WindowCriterion> criterion_;
  Points all_;
};

// Divides the p among concurrent searches, so that no CPU thread is idle during the last tasks of a
// step. There is a single search on a device, which tasks of several p fill in one launch, and with
// an automatic schedule, because tuning needs an otherwise idle machine.
std::vector<std::vector<std::size_t>> parts_of(const Study& study) {
  constexpr std::size_t most = 4;
  const std::size_t points = study.config().p.size();
  const bool beside = study.devices().front() < 0 && study.config().schedule.has_value();
  const auto threads = static_cast<std::size_t>(study.threads());
  std::vector<std::vector<std::size_t>> parts(beside ? std::min({points, threads, most}) : 1);
  for (std::size_t i = 0; i < points; ++i) parts[i % parts.size()].push_back(i);
  return parts;
}

// With couplings, `tc` uses one method: the tree condition where it applies.
void check_couplings(const StudyConfig& config, const std::string& file) {
  const std::string tree = why_no_tree(config), crossings = why_no_glass_crossings(config);
  const auto fail = [&](const std::string& why) {
    throw Error(ExitCode::usage, file + ": " + why);
  };
  if (config.method == TcMethod::both) {
    fail("sampling.method: with couplings, tc uses a single method (allowed: tree, crossings)");
  }
  if (config.method == TcMethod::crossings && !crossings.empty()) {
    fail(fmt::format("[model]: tc by crossings does not support {}: {}", to_string(config.model),
                     crossings));
  }
  if (!config.method && !tree.empty() && !crossings.empty()) {
    fail(fmt::format("[model]: tc does not support {}: by the tree condition: {}; by crossings: {}",
                     to_string(config.model), tree, crossings));
  }
}

void check_glass_config(const StudyConfig& config, const std::string& file) {
  const auto fail = [&](const std::string& why) {
    throw Error(ExitCode::usage, file + ": " + why);
  };
  if (config.sizes.size() < 3) {
    fail("lattice.sizes: crossings of overlaps require at least three sizes, to extrapolate");
  }
  if (*std::min_element(config.graphs.begin(), config.graphs.end()) < 2) {
    fail(
        "lattice.graphs: tc requires at least two graphs of each size; their spread gives the "
        "error");
  }
  if (config.temperatures.empty() && !config.temperature_range) {
    fail(
        "sampling.temperatures: \"auto\" does not support spin glasses: give a list or, with "
        "exchange = true, a range {from, to} that contains T_SG");
  }
  if (!config.temperatures.empty() && config.temperatures.size() < 4) {
    fail("sampling.temperatures: crossings of overlaps require at least four temperatures");
  }
  if (config.schedules.size() != 1) {
    fail("sampling.schedule: crossings of overlaps require a single schedule, such as 1:0");
  }
  if (config.clusters.size() > 1) {
    fail("sampling.cluster: crossings of overlaps require a single cluster update");
  }
}

// Keeps measured graphs, sizes with at least two of them, and p with at least two such sizes.
std::vector<TcData> finished_part(std::vector<TcData> points) {
  for (TcData& point : points) {
    const auto begun = std::ranges::find_if(
        point.sizes, [](SizeData& size) { return drop_unmeasured(size.samples) < 2; });
    point.sizes.erase(begun, point.sizes.end());
    if (!point.target) continue;
    auto& sizes = point.target->sizes;
    sizes.resize(std::min(sizes.size(), point.sizes.size()));
  }
  std::erase_if(points, [](const TcData& point) { return point.sizes.size() < 2; });
  return points;
}

}  // namespace

TcMethod tc_method(const StudyConfig& config) {
  constexpr double precise = 1e-3;
  const bool both = config.target_error && *config.target_error <= precise;
  return config.method.value_or(both ? TcMethod::both : TcMethod::crossings);
}

StudyConfig tc_config(const StudyConfig& given, const std::string& file) {
  StudyConfig config = one_per_p(given, file);
  check_tc_config(config, file);
  if (config.model.is_ferromagnet() || by_glass_crossings(config)) return config;
  config.method = TcMethod::tree;
  return config;
}

bool by_glass_crossings(const StudyConfig& config) {
  if (config.model.is_ferromagnet()) return false;
  return config.method == TcMethod::crossings || (!config.method && !why_no_tree(config).empty());
}

void check_tc_config(const StudyConfig& config, const std::string& file) {
  const auto one = [&](std::size_t count, const char* key) {
    if (count <= 1) return;
    throw Error(ExitCode::usage,
                fmt::format("{}: {}: tc supports one value, not {} (sweep supports lists)", file,
                            key, count));
  };
  if (!config.files.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("{}: lattice.files: sweep only; tc requires lattices of several sizes "
                            "(dim, sizes and p), to extrapolate Tc",
                            file));
  }
  if (!config.model.is_ferromagnet()) check_couplings(config, file);
  one(config.dims().size(), "lattice.dim");
  one(config.rules.size(), "lattice.rule");
  if (!config.temperature_tasks.empty()) {
    throw Error(ExitCode::usage, fmt::format("{}: sampling.temperature_tasks: sweep only", file));
  }
  if (!config.target_observables.empty()) {
    throw Error(
        ExitCode::usage,
        fmt::format("{}: sampling.target_observables: sweep only (the target of tc is Tc)", file));
  }
  if (by_glass_crossings(config)) return check_glass_config(config, file);
  if (config.temperature_range) {
    throw Error(ExitCode::usage,
                file +
                    ": sampling.temperatures: only sweep, and tc by crossings of overlaps, "
                    "support a range without a count (give a count, or \"auto\")");
  }
  if (by_peaks(config)) check_peaks_config(config, file);
  if (config.method == TcMethod::tree || !config.model.is_ferromagnet()) {
    if (const std::string why = why_no_tree(config); !why.empty()) {
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
                file + ": lattice.sizes: tc requires at least two sizes, whose curves cross");
  }
  if (*std::min_element(config.graphs.begin(), config.graphs.end()) < 2) {
    throw Error(ExitCode::usage, file +
                                     ": lattice.graphs: tc requires at least two graphs of each "
                                     "size; their spread gives the error");
  }
  if (config.temperatures.size() == 1) {
    throw Error(ExitCode::usage,
                file +
                    ": sampling.temperatures: tc requires at least two temperatures, or "
                    "\"auto\"");
  }
}

bool crossings_reach(const StudyConfig& config, double p) {
  if (by_peaks(config)) return true;
  if (p == 0) return config.dim() > 1;  // otherwise Tc = 0
  constexpr double shortcuts = 100;
  return !config.auto_sizes || site_count(config.sizes.front()) * config.dim() * p >= shortcuts;
}

std::vector<TcData> search_tc(Study& study, const StopToken& stop, Progress& progress,
                              const TcInterim& interim, const TcInterim& interrupted) {
  const std::vector<std::vector<std::size_t>> parts = parts_of(study);
  std::vector<std::unique_ptr<WindowSearch>> searches;
  for (const auto& which : parts) {
    searches.push_back(std::make_unique<WindowSearch>(study, stop, progress, which));
  }
  std::vector<TcData> points(study.config().p.size());
  const auto take = [&](std::size_t part) {
    std::vector<TcData> data = searches[part]->so_far();
    for (std::size_t i = 0; i < data.size(); ++i) points[parts[part][i]] = std::move(data[i]);
  };
  // New results are reported once all searches have begun their first round.
  std::mutex mutex;
  std::set<std::size_t> begun;
  std::size_t ended = 0;
  bool new_results = false;
  const auto look = [&](std::size_t part, bool more, bool last) {
    if (!interim) return;
    const std::lock_guard lock(mutex);
    take(part);
    begun.insert(part);
    ended += last ? 1 : 0;
    new_results = new_results || more;
    if (!new_results || begun.size() < parts.size() || ended == parts.size()) return;
    new_results = false;
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
    if (error.exit_code() == ExitCode::interrupted && interrupted) {
      interrupted(finished_part(std::move(points)));
    }
    throw;
  }
  for (std::size_t part = 0; part < parts.size(); ++part) take(part);
  return points;
}

}  // namespace rewise

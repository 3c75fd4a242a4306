#include "experiments/tc_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "analysis/crossing.hpp"
#include "experiments/options.hpp"
#include "experiments/study_schedule.hpp"
#include "experiments/task_results.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

constexpr std::uint32_t kScanGraphs = 4;
constexpr int kMostMoves = 6;    // of a window
constexpr double kInside = 0.6;  // of half the width: where a crossing is well inside
constexpr Eigen::Index kFinePoints = 41;

double site_count(const std::vector<std::uint32_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies<>());
}

// The search for one p.
struct Point {
  PointData data;
  double centre = 0, half_width = 0;     // of the window in work
  double seconds_per_site_cycle = 1e-9;  // of one task, all replicas of a temperature
};

class Search {
 public:
  Search(Study& study, const StopToken& stop, Progress& progress)
      : study_(study), config_(study.config()), stop_(stop), progress_(progress) {
    for (const double p : config_.p) {
      Point point;
      point.data.p = p;
      points_.push_back(std::move(point));
    }
  }

  std::vector<PointData> run() {
    if (config_.temperatures.empty()) scan();
    for (std::size_t k = 0; k < config_.sizes.size(); ++k) {
      progress_.stage(extents_text(config_.sizes[k]));
      open_size(k);
      measure_tau(k);
      fill(k, std::min(config_.graphs[k], kPilotGraphs));
      if (config_.temperatures.empty()) settle(k);
      fill(k, config_.graphs[k]);
    }
    std::vector<PointData> data;
    for (auto& point : points_) data.push_back(std::move(point.data));
    return data;
  }

 private:
  struct Target {
    std::size_t point;
    std::uint32_t graph;
  };

  double p_of(const Point& point) const { return point.data.p; }

  StudyTask task_of(const Point& point, std::size_t k, std::uint32_t graph, const SizePlan& plan,
                    const std::string& purpose) const {
    StudyTask task;
    task.spec = plan_task(config_, p_of(point), config_.sizes[k], graph, plan, purpose);
    task.label =
        fmt::format("p = {}, {}, {} {}", number_text(p_of(point)), extents_text(config_.sizes[k]),
                    purpose == "tc" ? "graph" : purpose, graph + 1);
    task.seconds = point.seconds_per_site_cycle * site_count(config_.sizes[k]) *
                   static_cast<double>(plan.temperatures.size() * task.spec.cycles());
    return task;
  }

  SizePlan first_plan(const Point& point, std::size_t k) const {
    SizePlan plan;
    plan.schedule =
        config_.schedule.value_or(automatic_schedule(p_of(point), site_count(config_.sizes[k])));
    return plan;
  }

  void scan() {
    progress_.stage("coarse scan");
    constexpr std::size_t sizes = 2;
    std::vector<StudyTask> tasks;
    for (const Point& point : points_) {
      const Range range = scan_range(config_, p_of(point));
      for (std::size_t k = 0; k < sizes; ++k) {
        SizePlan plan = first_plan(point, k);
        plan.temperatures = scan_temperatures(range, site_count(config_.sizes[1]));
        plan.equilibrate = 200;
        plan.measure = 100;
        plan.every = 2;
        for (std::uint32_t g = 0; g < kScanGraphs; ++g) {
          tasks.push_back(task_of(point, k, g, plan, "scan"));
        }
      }
    }
    expect(tasks, 0);
    std::vector<MomentRows> rows(tasks.size());
    study_.run(tasks, stop_, progress_, [&](std::size_t index, TaskData&& data) {
      rows[index] = scan_moments(data);
      if (index % (sizes * kScanGraphs) == 0)
        note_speed(points_[index / (sizes * kScanGraphs)], data);
    });
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const std::size_t first = i * sizes * kScanGraphs;
      locate(points_[i], tasks[first].spec.temperatures, &rows[first], &rows[first + kScanGraphs]);
    }
  }

  static MomentRows scan_moments(const TaskData& data) {
    MomentRows rows(static_cast<Eigen::Index>(data.temperature.size()), kMomentCount);
    for (std::size_t t = 0; t < data.temperature.size(); ++t) {
      rows.row(static_cast<Eigen::Index>(t)) =
          mean_moments(view_temperature(data.energy, t), view_temperature(data.magnetisation, t),
                       units_of(data))
              .transpose();
    }
    return rows;
  }

  // First estimate: where U of the two smallest sizes crosses.
  void locate(Point& point, const std::vector<double>& temperatures, const MomentRows* small,
              const MomentRows* large) {
    const auto count = static_cast<Eigen::Index>(temperatures.size());
    const auto binder_of = [&](const MomentRows* rows, Eigen::Index t) {
      Moments mean = Moments::Zero();
      for (std::uint32_t g = 0; g < kScanGraphs; ++g) mean += rows[g].row(t).transpose();
      return binder(mean / kScanGraphs);
    };
    Eigen::ArrayXd x(count), difference(count);
    Eigen::Index steepest = 0;
    for (Eigen::Index t = 0; t < count; ++t) {
      x(t) = temperatures[static_cast<std::size_t>(t)];
      difference(t) = binder_of(large, t) - binder_of(small, t);
      if (std::abs(binder_of(small, t) - 0.4) < std::abs(binder_of(small, steepest) - 0.4)) {
        steepest = t;
      }
    }
    // Far above Tc both are zero but for noise, which crosses too.
    const auto root = falling_root(x, difference, x(steepest));
    point.centre = root.value_or(x(steepest));
    if (!root) {
      point.data.warnings.push_back(
          "the coarse scan found no crossing of U; the search began where U = 0.4");
    }
  }

  void note_speed(Point& point, const TaskData& data) const {
    const double cycles =
        configured(data, "sampling.equilibrate", 0) +
        configured(data, "sampling.measure", 0) * configured(data, "sampling.every", 1);
    const auto seconds = data.provenance.find("work.seconds");
    if (seconds == data.provenance.end()) return;
    point.seconds_per_site_cycle =
        std::strtod(seconds->second.c_str(), nullptr) /
        (cycles * static_cast<double>(data.graph.sites * data.temperature.size()));
  }

  void open_size(std::size_t k) {
    for (Point& point : points_) {
      SizeData size;
      size.extents = config_.sizes[k];
      size.plan = first_plan(point, k);
      size.samples.sites = site_count(size.extents);
      point.data.sizes.push_back(std::move(size));
      place_window(point, k);
      tune_schedule(point, k);
    }
  }

  // Under schedule = "auto": at the middle of the first window, whatever becomes of it.
  void tune_schedule(Point& point, std::size_t k) {
    if (config_.schedule) return;
    SizePlan plan = point.data.sizes[k].plan;
    plan.equilibrate = 60;  // a likely plan, for the work to come
    plan.measure = 20;
    plan.every = 5;
    const StudyTask task = task_of(point, k, 0, plan, "tune");
    const double work = std::max(task.seconds, least_seconds(task.spec)) * config_.graphs[k];
    point.data.sizes[k].plan.schedule =
        study_schedule(study_, task.spec, work, plan.schedule, stop_, progress_);
  }

  // Of a task on one core, where no task has told yet.
  static double least_seconds(const TaskSpec& spec) {
    return 5e-9 * site_count(spec.graph.extents) *
           static_cast<double>(spec.temperatures.size() * spec.cycles());
  }

  // Lays the window of size k around point.centre; samples of another window are dropped.
  void place_window(Point& point, std::size_t k) {
    SizeData& size = point.data.sizes[k];
    point.half_width = half_window(config_, point.centre, p_of(point), size.samples.sites);
    size.plan.temperatures = config_.temperatures.empty()
                                 ? window_temperatures(point.centre, point.half_width)
                                 : config_.temperatures;
    size.samples.grid = temperature_grid(size.plan.temperatures.front(),
                                         size.plan.temperatures.back(), kFinePoints);
    size.samples.graphs.clear();
  }

  // A short run at the middle of the window.
  void measure_tau(std::size_t k) {
    std::vector<StudyTask> tasks;
    for (const Point& point : points_) {
      SizePlan plan = point.data.sizes[k].plan;
      plan.temperatures = {plan.temperatures[plan.temperatures.size() / 2]};
      plan.equilibrate = config_.equilibrate.value_or(300);
      plan.measure = 400;
      plan.every = 1;
      tasks.push_back(task_of(point, k, 0, plan, "pilot"));
    }
    std::vector<double> tau(tasks.size());
    expect(tasks, k);
    study_.run(tasks, stop_, progress_, [&](std::size_t index, TaskData&& data) {
      tau[index] = tau_of_m2(data, 0).value;
      note_speed(points_[index], data);
    });
    for (std::size_t i = 0; i < points_.size(); ++i) {
      choose_times(config_, p_of(points_[i]), tau[i], points_[i].data.sizes[k].plan);
    }
    expect({}, k);
  }

  // Computes graphs up to number `graphs` of size k, for every p.
  void fill(std::size_t k, std::uint32_t graphs) {
    std::vector<StudyTask> tasks;
    std::vector<Target> targets;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      auto& samples = points_[i].data.sizes[k].samples;
      for (auto g = static_cast<std::uint32_t>(samples.graphs.size()); g < graphs; ++g) {
        tasks.push_back(task_of(points_[i], k, g, points_[i].data.sizes[k].plan, "tc"));
        targets.push_back({i, g});
      }
      if (!tasks.empty() && samples.graphs.size() < graphs) samples.spec = tasks.back().spec.graph;
      samples.graphs.resize(std::max<std::size_t>(graphs, samples.graphs.size()));
    }
    study_.run(tasks, stop_, progress_, [&](std::size_t index, TaskData&& data) {
      SizeSamples& samples = points_[targets[index].point].data.sizes[k].samples;
      samples.graphs[targets[index].graph] = reduce(tasks[index].spec, data, samples.grid);
    });
  }

  // Moves windows until the crossing with the size before is well inside.
  void settle(std::size_t k) {
    if (k == 0) return;
    for (int move = 0; move <= kMostMoves; ++move) {
      bool settled = true;
      for (Point& point : points_) {
        const double shift = wanted_shift(point, k);
        if (shift == 0) continue;
        if (move == kMostMoves) {
          point.data.warnings.push_back(
              fmt::format("{}: no window was found with the crossing well inside",
                          extents_text(config_.sizes[k])));
          continue;
        }
        settled = false;
        move_window(point, k, shift);
      }
      if (settled) return;
      fill(k - 1, config_.graphs[k - 1]);
      fill(k, std::min(config_.graphs[k], kPilotGraphs));
    }
  }

  // The window of the size before follows where it would no longer cover the crossing.
  void move_window(Point& point, std::size_t k, double shift) {
    point.centre += std::clamp(shift, -1.2 * point.half_width, 1.2 * point.half_width);
    const Eigen::ArrayXd& before = point.data.sizes[k - 1].samples.grid;
    const double middle = 0.5 * (before(0) + before(before.size() - 1));
    const double half = before(before.size() - 1) - middle;
    if (std::abs(point.centre - middle) > kInside * half) place_window(point, k - 1);
    place_window(point, k);
  }

  // How far the window of size k should move; 0: it may stay. Leaves the crossing, the best
  // estimate so far, as the next centre.
  double wanted_shift(Point& point, std::size_t k) const {
    const SizeSamples& small = point.data.sizes[k - 1].samples;
    const SizeSamples& large = point.data.sizes[k].samples;
    double sum[2] = {0, 0};  // of stable crossings, of all
    int count[2] = {0, 0};
    for (int observable = 0; observable < (p_of(point) > 0 ? 2 : 1); ++observable) {
      const Crossing crossing = find_crossing(first_graphs(0, small, observable),
                                              first_graphs(1, large, observable), observable);
      if (crossing.status == CrossingStatus::none) continue;
      for (const int kind : {0, 1}) {
        if (kind == 0 && crossing.status != CrossingStatus::found) continue;
        sum[kind] += crossing.temperature.value;
        ++count[kind];
      }
    }
    if (count[1] == 0) return blind_shift(point, small, large);
    const int kind = count[0] > 0 ? 0 : 1;
    const double shift = sum[kind] / count[kind] - point.centre;
    if (std::abs(shift) > kInside * point.half_width) return shift;
    point.centre += shift;
    return 0;
  }

  // Without a crossing in sight: towards where it must be.
  double blind_shift(const Point& point, const SizeSamples& small, const SizeSamples& large) const {
    const JackknifeCurve a = first_graphs(0, small, 0), b = first_graphs(1, large, 0);
    const double low = std::max(a.temperature(0), b.temperature(0));
    const double high =
        std::min(a.temperature(a.temperature.size() - 1), b.temperature(b.temperature.size() - 1));
    if (low >= high) {  // the windows do not even touch
      return 0.5 * (a.temperature(0) + a.temperature(a.temperature.size() - 1)) - point.centre;
    }
    const double middle = 0.5 * (low + high);
    const double difference =
        interpolate(b.temperature, b.value, middle) - interpolate(a.temperature, a.value, middle);
    return (difference > 0 ? 1.2 : -1.2) * point.half_width;
  }

  // The curve of the pilot graphs only: more graphs must not move a window.
  static JackknifeCurve first_graphs(int sample, const SizeSamples& samples, int observable) {
    SizeSamples first = samples;
    first.graphs.resize(std::min<std::size_t>(samples.graphs.size(), kPilotGraphs));
    return observable_curve(sample, first, observable);
  }

  // Expected work, for the time left: tasks about to run, and the graphs of sizes from k on, under
  // their plan or, before there is one, a likely one.
  void expect(const std::vector<StudyTask>& tasks, std::size_t k) {
    for (const auto& task : tasks) planned_ += task.seconds;
    double rest = 0;
    for (const Point& point : points_) {
      SizePlan plan;
      plan.temperatures.resize(6);
      plan.equilibrate = 60;
      plan.measure = 20;
      plan.every = 5;
      for (const auto& size : point.data.sizes) {
        if (size.plan.measure > 0) plan = size.plan;
      }
      for (std::size_t other = k; other < config_.sizes.size(); ++other) {
        rest += task_of(point, other, 0, plan, "tc").seconds * config_.graphs[other];
      }
    }
    progress_.set_total(planned_ + rest);
    if (tasks.empty()) planned_ += rest_of(k);
  }
  double rest_of(std::size_t k) const {
    double seconds = 0;
    for (const Point& point : points_) {
      seconds += task_of(point, k, 0, point.data.sizes[k].plan, "tc").seconds * config_.graphs[k];
    }
    return seconds;
  }

  Study& study_;
  const StudyConfig& config_;
  const StopToken& stop_;
  Progress& progress_;
  std::vector<Point> points_;
  double planned_ = 0;  // seconds on one core, of all steps whose tasks are known
};

}  // namespace

void check_tc_config(const StudyConfig& config, const std::string& file) {
  const auto one = [&](std::size_t count, const char* key) {
    if (count <= 1) return;
    throw Error(ExitCode::usage,
                fmt::format("{}: {}: tc takes one, not {} (sweep takes lists)", file, key, count));
  };
  one(config.dims().size(), "lattice.dim");
  one(config.rules.size(), "lattice.rule");
  one(config.schedules.size(), "sampling.schedule");
  check_second_order(config, file);
  if (config.sizes.size() < 2) {
    throw Error(ExitCode::usage,
                file + ": lattice.sizes: tc needs two sizes or more, whose curves cross");
  }
  if (config.temperatures.size() == 1) {
    throw Error(ExitCode::usage,
                file + ": sampling.temperatures: tc needs two temperatures or more, or \"auto\"");
  }
}

std::vector<PointData> search_tc(Study& study, const StopToken& stop, Progress& progress) {
  return Search(study, stop, progress).run();
}

JackknifeCurve observable_curve(int sample, const SizeSamples& samples, int observable) {
  return curve_over_graphs(sample, fine_table(samples), observable == 0 ? binder_at : scaled_m2_at,
                           controls(samples));
}

}  // namespace rewise

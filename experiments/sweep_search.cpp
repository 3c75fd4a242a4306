#include "experiments/sweep_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <numeric>

#include "experiments/options.hpp"
#include "experiments/study_schedule.hpp"

namespace rewise {
namespace {

constexpr std::uint32_t kScanGraphs = 4;
constexpr double kFall = 0.4;            // the value of U that is looked for
constexpr double kWindow = 2;            // half windows of `tc` on either side
constexpr std::uint64_t kMeasure = 100;  // where "auto"
constexpr double kLeastTaus = 5;         // of equilibration, before a warning

double site_count(const std::vector<std::uint32_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies<>());
}

// A point while it is worked on.
struct Work {
  SweepPoint point;
  std::vector<std::uint32_t> graphs;  // [size]
  Range range;                        // where the next scan looks
  double seconds_per_site_cycle = 1e-9;
  std::vector<TemperatureResult> single;  // of the size in work, where it has one graph
};

class Sweep {
 public:
  Sweep(Study& study, const StopToken& stop, Progress& progress)
      : study_(study), config_(study.config()), stop_(stop), progress_(progress) {
    const auto dims = config_.dims();
    std::vector<std::optional<Schedule>> schedules(config_.schedules.begin(),
                                                   config_.schedules.end());
    if (schedules.empty()) schedules.emplace_back();
    for (const int dim : dims) {
      for (const Rule rule : config_.rules) {
        for (const auto& schedule : schedules) {
          std::string label;
          if (dims.size() > 1) label += fmt::format("-{}d", dim);
          if (config_.rules.size() > 1) label += fmt::format("-{}", to_string(rule));
          if (schedules.size() > 1) {
            label += fmt::format("-{}-{}", schedule->local, schedule->cluster);
          }
          if (!label.empty()) label.erase(0, 1);
          for (const double p : config_.p) open(dim, rule, schedule, p, label);
        }
      }
    }
  }

  std::vector<SweepPoint> run() {
    std::size_t most = 0;
    for (const Work& work : works_) most = std::max(most, work.point.sizes.size());
    for (std::size_t k = 0; k < most; ++k) {
      std::vector<Work*> now;
      for (Work& work : works_) {
        if (k < work.point.sizes.size()) now.push_back(&work);
      }
      if (config_.temperatures.empty()) scan(now, k);
      for (Work* work : now) tune_schedule(*work, k);
      if (!config_.equilibrate || !config_.every) measure_tau(now, k);
      choose(now, k);
      fill(now, k);
    }
    std::vector<SweepPoint> points;
    for (Work& work : works_) points.push_back(std::move(work.point));
    return points;
  }

 private:
  void open(int dim, Rule rule, const std::optional<Schedule>& schedule, double p,
            const std::string& label) {
    Work work;
    work.point = {dim, rule, schedule, p, label, {}, {}, {}, {}};
    work.range = scan_range(dim, rule, p, config_.model, config_.q);
    for (std::size_t k = 0; k < config_.sizes.size(); ++k) {
      if (config_.sizes[k].size() != static_cast<std::size_t>(dim)) continue;
      SizeData size;
      size.extents = config_.sizes[k];
      size.samples.sites = site_count(size.extents);
      size.plan = first_plan(config_, schedule, p, size.samples.sites);
      size.plan.temperatures = config_.temperatures;
      work.point.sizes.push_back(std::move(size));
      work.graphs.push_back(config_.graphs[k]);
    }
    works_.push_back(std::move(work));
  }

  StudyTask task_of(const Work& work, std::size_t k, std::uint32_t graph, const SizePlan& plan,
                    const std::string& purpose) const {
    const SizeData& size = work.point.sizes[k];
    StudyConfig config = config_;
    config.rule = work.point.rule;
    StudyTask task;
    task.spec = plan_task(config, work.point.p, size.extents, graph, plan, purpose);
    task.label = fmt::format("p = {}, {}{}{}, {} {}", number_text(work.point.p),
                             extents_text(size.extents), work.point.label.empty() ? "" : ", ",
                             work.point.label, purpose == "sweep" ? "graph" : purpose, graph + 1);
    task.seconds = work.seconds_per_site_cycle * size.samples.sites *
                   static_cast<double>(plan.temperatures.size() * task.spec.cycles());
    return task;
  }

  // Runs tasks that belong to `owners`, one each, and notes how fast they were.
  void run_tasks(const std::vector<StudyTask>& tasks, const std::vector<Work*>& owners,
                 std::size_t k, const TaskHandler& handle) {
    for (const StudyTask& task : tasks) planned_ += task.seconds;
    progress_.set_total(planned_ + rest_after(k));
    study_.run(tasks, stop_, progress_, [&](std::size_t index, TaskData&& data) {
      {
        const std::lock_guard lock(speed_);  // several tasks may end at once
        note_speed(*owners[index], tasks[index].spec, data);
      }
      handle(index, std::move(data));
    });
  }

  static void note_speed(Work& work, const TaskSpec& spec, const TaskData& data) {
    const auto seconds = data.provenance.find("work.seconds");
    if (seconds == data.provenance.end()) return;
    const double units = static_cast<double>(spec.cycles() * data.graph.sites) *
                         static_cast<double>(data.temperature.size());
    work.seconds_per_site_cycle = std::strtod(seconds->second.c_str(), nullptr) / units;
  }

  // A guess at the work of sizes that were not begun.
  double rest_after(std::size_t k) const {
    double seconds = 0;
    for (const Work& work : works_) {
      for (std::size_t other = k + 1; other < work.point.sizes.size(); ++other) {
        const double cycles =
            static_cast<double>(config_.equilibrate.value_or(60) +
                                config_.measure.value_or(kMeasure) * config_.every.value_or(5));
        const double temperatures =
            config_.temperatures.empty() ? 13 : static_cast<double>(config_.temperatures.size());
        seconds += work.seconds_per_site_cycle * work.point.sizes[other].samples.sites * cycles *
                   temperatures * work.graphs[other];
      }
    }
    return seconds;
  }

  void stage(const char* what, const std::vector<Work*>& works, std::size_t k) {
    progress_.stage(
        fmt::format("{} {}", what, extents_text(works.front()->point.sizes[k].extents)));
  }

  void scan(const std::vector<Work*>& works, std::size_t k) {
    stage("scan of", works, k);
    std::vector<StudyTask> tasks;
    std::vector<Work*> owners;
    for (Work* work : works) {
      SizePlan plan = work->point.sizes[k].plan;
      plan.temperatures = scan_temperatures(work->range, work->point.sizes[k].samples.sites);
      plan.equilibrate = 200;
      plan.measure = 100;
      plan.every = 2;
      for (std::uint32_t g = 0; g < kScanGraphs; ++g) {
        tasks.push_back(task_of(*work, k, g, plan, "scan"));
        owners.push_back(work);
      }
    }
    std::vector<GraphSample> samples(tasks.size());
    run_tasks(tasks, owners, k, [&](std::size_t index, TaskData&& data) {
      samples[index] = reduce(tasks[index].spec, data, {});
    });
    for (std::size_t i = 0; i < works.size(); ++i) {
      place_window(*works[i], k, tasks[i * kScanGraphs].spec.temperatures,
                   &samples[i * kScanGraphs]);
    }
  }

  void place_window(Work& work, std::size_t k, const std::vector<double>& temperatures,
                    const GraphSample* samples) {
    std::vector<double> u, c;
    for (std::size_t t = 0; t < temperatures.size(); ++t) {
      Moments mean = Moments::Zero();
      for (std::uint32_t g = 0; g < kScanGraphs; ++g) {
        mean += samples[g].simulated.row(static_cast<Eigen::Index>(t)).transpose() / kScanGraphs;
      }
      u.push_back(binder(mean));
      c.push_back(specific_heat(mean, work.point.sizes[k].samples.sites, temperatures[t]));
    }
    SizeData& size = work.point.sizes[k];
    // U of more states does not fall to 0, and dips where the transition is of first order: there
    // the specific heat has its peak.
    const bool heat = config_.q > 2;
    const auto peak = std::max_element(c.begin(), c.end()) - c.begin();
    const std::optional<double> centre =
        heat ? temperatures[static_cast<std::size_t>(peak)] : fall_of_binder(temperatures, u);
    if (!centre) {
      work.point.warnings.push_back(fmt::format(
          "{}: U falls through {} nowhere between T = {} and {}; the temperatures lie around the "
          "middle",
          extents_text(size.extents), kFall, temperatures.front(), temperatures.back()));
    }
    const double middle = centre.value_or(std::sqrt(temperatures.front() * temperatures.back()));
    const double half =
        kWindow * half_window(middle, work.point.dim, work.point.p, size.samples.sites, config_.q);
    size.plan.temperatures = sweep_temperatures(middle, half);
    const Range all =
        scan_range(work.point.dim, work.point.rule, work.point.p, config_.model, config_.q);
    work.range = {std::max(all.low, middle - half), std::min(all.high, middle + half)};
  }

  // Under schedule = "auto": at the middle temperature.
  void tune_schedule(Work& work, std::size_t k) {
    if (work.point.schedule) return;
    SizePlan& plan = work.point.sizes[k].plan;
    SizePlan likely = plan;
    likely.equilibrate = config_.equilibrate.value_or(60);
    likely.measure = config_.measure.value_or(kMeasure);
    likely.every = config_.every.value_or(2);
    const StudyTask task = task_of(work, k, 0, likely, "tune");
    ClassWork tasks{task.spec, static_cast<double>(work.graphs[k]), task.seconds, {}};
    if (k > 0) tasks.neighbour = work.point.sizes[k - 1].extents;
    take_schedule(study_, tasks, stop_, progress_, plan);
  }

  void measure_tau(const std::vector<Work*>& works, std::size_t k) {
    stage("times of", works, k);
    std::vector<StudyTask> tasks;
    for (Work* work : works) {
      SizePlan plan = work->point.sizes[k].plan;
      plan.equilibrate = config_.equilibrate.value_or(300);
      plan.measure = 200;
      plan.every = 1;
      tasks.push_back(task_of(*work, k, 0, plan, "pilot"));
    }
    run_tasks(tasks, works, k, [&](std::size_t index, TaskData&& data) {
      double tau = 0;
      for (std::size_t t = 0; t < data.temperature.size(); ++t) {
        tau = std::max(tau, tau_of_m2(data, t).value);
      }
      choose_times(config_, works[index]->point.p, tau, works[index]->point.sizes[k].plan);
    });
  }

  void choose(const std::vector<Work*>& works, std::size_t k) {
    for (Work* work : works) {
      SizePlan& plan = work->point.sizes[k].plan;
      if (config_.equilibrate) plan.equilibrate = *config_.equilibrate;
      if (config_.every) plan.every = *config_.every;
      plan.measure = config_.measure.value_or(kMeasure);
    }
  }

  void fill(const std::vector<Work*>& works, std::size_t k) {
    stage("graphs of", works, k);
    std::vector<StudyTask> tasks;
    std::vector<Work*> owners;
    std::vector<std::uint32_t> graph;
    for (Work* work : works) {
      SizeData& size = work->point.sizes[k];
      size.samples.graphs.resize(work->graphs[k]);
      for (std::uint32_t g = 0; g < work->graphs[k]; ++g) {
        tasks.push_back(task_of(*work, k, g, size.plan, "sweep"));
        owners.push_back(work);
        graph.push_back(g);
      }
      size.samples.spec = tasks.back().spec.graph;
    }
    run_tasks(tasks, owners, k, [&](std::size_t index, TaskData&& data) {
      Work& work = *owners[index];
      work.point.sizes[k].samples.graphs[graph[index]] = reduce(tasks[index].spec, data, {});
      if (work.graphs[k] == 1) work.single = results_of(data);
    });
    for (Work* work : works) average(*work, k);
  }

  void average(Work& work, std::size_t k) {
    SweepPoint& point = work.point;
    const SizeData& size = point.sizes[k];
    const bool one = work.graphs[k] == 1;
    point.curves.push_back(one ? curves_of_one_graph(work.single, size.samples.sites)
                               : simulated_curves(size));
    point.hot_cold.push_back(one ? compare_halves(work.single) : compare_halves(size));
    const HotCold& halves = point.hot_cold.back();
    if (!halves.agree) {
      point.warnings.push_back(fmt::format(
          "{}: replicas that started hot and cold differ in |m| by {:.1f} standard errors: not in "
          "equilibrium, raise sampling.equilibrate",
          extents_text(size.extents), std::abs(halves.worst_z)));
    }
    double longest = 0;
    for (const Value& tau : point.curves.back().tau) longest = std::max(longest, tau.value);
    if (static_cast<double>(size.plan.equilibrate) < kLeastTaus * longest) {
      point.warnings.push_back(
          fmt::format("{}: {} cycles of equilibration are only {:.1f} tau_int of m^2: raise "
                      "sampling.equilibrate",
                      extents_text(size.extents), size.plan.equilibrate,
                      static_cast<double>(size.plan.equilibrate) / longest));
    }
  }

  Study& study_;
  const StudyConfig& config_;
  const StopToken& stop_;
  Progress& progress_;
  std::vector<Work> works_;
  std::mutex speed_;
  double planned_ = 0;  // seconds on one core, of all steps begun
};

}  // namespace

std::vector<SweepPoint> search_sweep(Study& study, const StopToken& stop, Progress& progress) {
  return Sweep(study, stop, progress).run();
}

std::vector<double> sweep_temperatures(double centre, double half_width) {
  constexpr int count = 13;
  const double grain = half_width / 16;
  const double middle = std::round(centre / grain) * grain;
  // Wide windows of small lattices must not reach down to zero.
  const double low = std::max(middle - half_width, 0.2 * middle);
  std::vector<double> temperatures;
  for (int k = 0; k < count; ++k) {
    const double exact = low + (middle + half_width - low) * k / (count - 1);
    temperatures.push_back(std::strtod(fmt::format("{:.6g}", exact).c_str(), nullptr));
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

#include "experiments/sweep/sweep_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "experiments/console/options.hpp"
#include "experiments/study/study_schedule.hpp"
#include "experiments/study/target_work.hpp"
#include "experiments/sweep/sweep_rounds.hpp"
#include "experiments/sweep/sweep_tasks.hpp"
#include "experiments/tasks/equilibrium.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

constexpr std::uint32_t kScanGraphs = 4;
constexpr double kFall = 0.4;     // the value of U that is looked for
constexpr double kWindow = 2;     // half windows of `tc` on either side
constexpr double kLeastTaus = 5;  // of equilibration, before a warning

// Averages over the graphs so far, and what is to be said of them.
void average(SweepWork& work, std::size_t k) {
  SweepPoint& point = work.point;
  const SizeData& size = point.sizes[k];
  const bool one = size.samples.graphs.size() == 1;
  point.curves.push_back(one ? curves_of_one_graph(work.single[k]) : simulated_curves(size));
  point.hot_cold.push_back(compare_halves(size));
  const HotCold& halves = point.hot_cold.back();
  if (!halves.agree) {
    point.warnings.push_back(fmt::format(
        "{}: replicas that started hot and cold differ in {} by {:.1f} standard errors: not in "
        "equilibrium, raise sampling.equilibrate",
        size_text(size), halves.observable, std::abs(halves.worst_z)));
  }
  double longest = 0;
  for (const Value& tau : point.curves.back().tau) longest = std::max(longest, tau.value);
  if (size.plan.warm_up.cycles == 0 && size.plan.discard == 0 &&
      static_cast<double>(size.plan.equilibrate) < kLeastTaus * longest) {
    point.warnings.push_back(
        fmt::format("{}: {} cycles of equilibration are only {:.1f} tau_int of m^2: raise "
                    "sampling.equilibrate",
                    size_text(size), size.plan.equilibrate,
                    static_cast<double>(size.plan.equilibrate) / longest));
  }
}

std::vector<SweepPoint> averaged(std::vector<SweepWork> works) {
  std::vector<SweepPoint> points;
  for (SweepWork& work : works) {
    for (std::size_t k = 0; k < work.point.sizes.size(); ++k) average(work, k);
    points.push_back(std::move(work.point));
  }
  return points;
}

// Graphs that are measured, and of sizes that are to have several, those with two or more.
std::vector<SweepWork> finished_part(std::vector<SweepWork> works) {
  for (SweepWork& work : works) {
    auto& sizes = work.point.sizes;
    for (std::size_t k = sizes.size(); k-- > 0;) {
      auto& graphs = sizes[k].samples.graphs;
      const std::size_t least = graphs.size() > 1 ? 2 : 1;
      std::erase_if(graphs, [](const GraphSample& graph) { return graph.measurements == 0; });
      if (graphs.size() >= least) continue;
      const auto at = static_cast<std::ptrdiff_t>(k);
      sizes.erase(sizes.begin() + at);
      work.single.erase(work.single.begin() + at);
      if (!work.point.targets.empty()) {
        work.point.targets.erase(work.point.targets.begin() + at);
      }
    }
  }
  std::erase_if(works, [](const SweepWork& work) { return work.point.sizes.empty(); });
  return works;
}

class Sweep {
 public:
  Sweep(Study& study, const StopToken& stop, Progress& progress)
      : tasks_(study, stop, progress), config_(study.config()) {}

  std::vector<SweepPoint> finished() const { return averaged(finished_part(tasks_.works)); }

  std::vector<SweepPoint> run(const SweepInterim& interim) {
    std::size_t most = 0;
    for (const SweepWork& work : tasks_.works) most = std::max(most, work.point.sizes.size());
    for (std::size_t k = 0; k < most; ++k) {
      std::vector<SweepWork*> now;
      for (SweepWork& work : tasks_.works) {
        if (k < work.point.sizes.size()) now.push_back(&work);
      }
      if (config_.temperatures.empty()) scan(now, k);
      for (SweepWork* work : now) tune_schedule(*work, k);
      choose_plans(now, k);
      fill(now, k);
    }
    if (config_.target_error) {
      run_sweep_rounds(tasks_, [&] {
        if (interim) interim(averaged(tasks_.works));
      });
    }
    return averaged(std::move(tasks_.works));
  }

 private:
  void stage(const char* what, const std::vector<SweepWork*>& works, std::size_t k) {
    tasks_.progress().stage(fmt::format("{} {}", what, size_text(works.front()->point.sizes[k])));
  }

  void scan(const std::vector<SweepWork*>& works, std::size_t k) {
    stage("scan of", works, k);
    std::vector<StudyTask> tasks;
    std::vector<SweepWork*> owners;
    for (SweepWork* work : works) {
      SizePlan plan = work->point.sizes[k].plan;
      plan.temperatures = scan_temperatures(work->range, work->point.sizes[k].samples.sites);
      plan.equilibrate = 200;
      plan.measure = 100;
      plan.every = 2;
      for (std::uint32_t g = 0; g < kScanGraphs; ++g) {
        tasks.push_back(tasks_.task_of(*work, k, g, plan, "scan"));
        owners.push_back(work);
      }
    }
    std::vector<GraphSample> samples(tasks.size());
    run_tasks(tasks, owners, k, [&](std::size_t index, TaskData&& data) {
      samples[index] = reduce(tasks[index].spec, std::move(data), {});
    });
    for (std::size_t i = 0; i < works.size(); ++i) {
      place_window(*works[i], k, tasks[i * kScanGraphs].spec.temperatures,
                   &samples[i * kScanGraphs]);
    }
  }

  void place_window(SweepWork& work, std::size_t k, const std::vector<double>& temperatures,
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
          size_text(size), kFall, temperatures.front(), temperatures.back()));
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
  void tune_schedule(SweepWork& work, std::size_t k) {
    if (work.point.schedule || work.imported != nullptr) return;
    SizePlan& plan = work.point.sizes[k].plan;
    SizePlan likely = plan;
    likely.equilibrate = config_.equilibrate.value_or(60);
    likely.measure = config_.measure.value_or(kSweepMeasure);
    likely.every = config_.every.value_or(2);
    const StudyTask task = tasks_.task_of(work, k, 0, likely, "tune");
    const double graphs = work.graphs[k] * (config_.target_error ? kLikelyGrowth : 1);
    ClassWork tasks{task.spec, graphs, task.seconds, {}};
    if (k > 0) tasks.neighbour = work.point.sizes[k - 1].extents;
    take_schedule(tasks_.study(), tasks, tasks_.stop(), tasks_.progress(), plan);
  }

  // Equilibration, cycles per measurement, measurements.
  void choose_plans(const std::vector<SweepWork*>& works, std::size_t k) {
    if (!config_.equilibrate || !config_.every) stage("times of", works, k);
    if (!config_.equilibrate) {
      establish(works, k);
    } else if (!config_.every) {
      measure_tau(works, k);
    }
    for (SweepWork* work : works) {
      SizePlan& plan = work->point.sizes[k].plan;
      if (config_.equilibrate) plan.equilibrate = *config_.equilibrate;
      if (config_.every) plan.every = *config_.every;
      plan.measure = config_.measure.value_or(kSweepMeasure);
      if (!config_.temperatures.empty()) plan.temperatures = config_.temperatures;
    }
  }

  void establish(const std::vector<SweepWork*>& works, std::size_t k) {
    std::vector<EquilibriumSearch> searches;
    for (SweepWork* work : works) {
      searches.push_back({&work->point.sizes[k].plan, work->point.p,
                          work->point.sizes[k].samples.sites, work->graphs[k],
                          [this, work, k](std::uint32_t graph, const SizePlan& plan) {
                            return tasks_.task_of(*work, k, graph, plan, "pilot");
                          },
                          ""});
    }
    establish_equilibrium(config_, searches,
                          [&](const std::vector<StudyTask>& tasks,
                              const std::vector<std::size_t>& whose, const TaskHandler& handle) {
                            std::vector<SweepWork*> owners;
                            for (const std::size_t i : whose) owners.push_back(works[i]);
                            run_tasks(tasks, owners, k, handle);
                          });
    for (std::size_t i = 0; i < works.size(); ++i) {
      if (searches[i].failed.empty()) continue;
      works[i]->point.warnings.push_back(fmt::format("{}: no equilibrium by pilots: {}",
                                                     size_text(works[i]->point.sizes[k]),
                                                     searches[i].failed));
    }
  }

  void measure_tau(const std::vector<SweepWork*>& works, std::size_t k) {
    std::vector<StudyTask> tasks;
    for (SweepWork* work : works) {
      SizePlan plan = work->point.sizes[k].plan;
      plan.equilibrate = *config_.equilibrate;
      plan.measure = 200;
      plan.every = 1;
      tasks.push_back(tasks_.task_of(*work, k, 0, plan, "pilot"));
    }
    run_tasks(tasks, works, k, [&](std::size_t index, TaskData&& data) {
      double tau = 0;
      for (std::size_t t = 0; t < data.temperature.size(); ++t) {
        tau = std::max(tau, tau_of_m2(data, t).value);
      }
      choose_times(config_, works[index]->point.p, tau, works[index]->point.sizes[k].plan);
    });
  }

  // The graphs that size k begins with.
  void fill(const std::vector<SweepWork*>& works, std::size_t k) {
    stage("graphs of", works, k);
    std::vector<SweepCell> cells;
    for (SweepWork* work : works) cells.push_back({work, k, work->graphs[k]});
    tasks_.expect(tasks_.seconds_to_fill(cells), tasks_.seconds_after(k));
    tasks_.fill(cells);
  }

  void run_tasks(const std::vector<StudyTask>& tasks, const std::vector<SweepWork*>& owners,
                 std::size_t k, const TaskHandler& handle) {
    double seconds = 0;
    for (const StudyTask& task : tasks) seconds += task.seconds;
    tasks_.expect(seconds, tasks_.seconds_after(k));
    tasks_.run(tasks, owners, handle);
  }

  SweepTasks tasks_;
  const StudyConfig& config_;
};

}  // namespace

std::vector<SweepPoint> search_sweep(Study& study, const StopToken& stop, Progress& progress,
                                     const SweepInterim& interim, const SweepInterim& interrupted) {
  Sweep sweep(study, stop, progress);
  try {
    return sweep.run(interim);
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::interrupted && interrupted) interrupted(sweep.finished());
    throw;
  }
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

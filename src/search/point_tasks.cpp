#include "src/search/point_tasks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "src/results/task_results.hpp"
#include "src/search/equilibrium.hpp"
#include "src/search/target_rounds.hpp"
#include "src/search/tune/auto_schedule.hpp"
#include "src/settings/engines.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

// Lower bound of the seconds of a task on one core, used before any task was timed. It is that of
// engines whose replicas share words, the fastest.
double least_cpu_seconds(const TaskSpec& spec) {
  return 5e-9 * site_count(spec.graph.extents) *
         static_cast<double>(spec.temperatures.size() * spec.cycles());
}

// Rule of thumb on a fully used CUDA device near Tc (tests/bench/RESULTS.md, "Tuner").
Updates cuda_rule(const TaskSpec& spec, bool any_cluster) {
  const bool labels = any_cluster && spec.graph.p > 0;
  return {{4, 1}, labels ? ClusterUpdate::swendsen_wang : spec.cluster};
}

// Request to auto_schedule.hpp for a job's tasks; `task` is one of them, with a likely plan. If
// there is too little work for tuning even on one core, the plan's schedule is used, so that a
// small study is the same on every device. If there is too little work on this device, or tuning
// has no result, engines with EngineFactory::cuda_seconds use cuda_rule() on CUDA.
ScheduleRequest request_of(const Study& study, const SizeJob& job, const PlannedTask& task) {
  const TaskSpec& spec = task.spec;
  const bool cuda = study.devices().front() >= 0;
  const auto cuda_seconds = factory(spec.engine).cuda_seconds;
  const bool words = traits(spec.engine).replica_multiple > 1,
             gpu = cuda && cuda_seconds != nullptr;
  const double tasks = job.graphs * (study.config().target_error ? kLikelyGrowth : 1);
  // Uses the speed of earlier tasks, if known.
  const bool measured = job.point->speed.measured();
  const double seconds = measured || cuda || words ? task.seconds : cpu_seconds(spec, 1);
  const double on_core = std::max(cuda ? 0 : seconds, least_cpu_seconds(spec));
  ScheduleRequest request;
  request.spec = spec;
  request.improved = job.size().samples.improved;
  request.any_cluster = !study.config().cluster();
  request.recompute_damaged = study.config().recompute_damaged;
  request.rule_of_thumb = request.fallback = {job.size().plan.schedule, spec.cluster};
  if (gpu) request.fallback = cuda_rule(spec, request.any_cluster);
  request.work = tasks * on_core;
  const double sites = site_count(spec.graph.extents);
  const double replicas = static_cast<double>(spec.temperatures.size()) * spec.replicas;
  double on_device = seconds;
  if (gpu) {
    // cuda_seconds() holds for a full device, whereas single tasks left a part of it idle. A cycle
    // of sweeps alone is short but has a larger overhead.
    const double cycle =
        std::max(cuda_seconds(spec.model, request.fallback, spec.graph.p, sites),
                 cuda_seconds(spec.model, {{1, 1}, spec.cluster}, spec.graph.p, sites));
    on_device = replicas * static_cast<double>(spec.cycles()) * cycle;
  }
  const double workers = cuda ? static_cast<double>(study.devices().size())
                              : std::clamp<double>(study.threads(), 1, std::max(tasks, 1.0));
  request.seconds = tasks * (cuda ? on_device : on_core) / workers;
  request.options.device = study.devices().front();
  request.options.threads = 1;
  return request;
}

}  // namespace

PlannedTask PointTasks::task_of(StudyPoint& point, const SizeData& size, std::size_t index,
                                std::uint32_t graph, const SizePlan& plan,
                                const std::string& purpose) const {
  const std::string name = purpose == "graph" ? kind_.name : purpose;
  StudyConfig own = config();
  own.rules = {point.rule};
  PlannedTask task;
  task.spec = plan_task(own, point.p, size.extents, graph, plan, name);
  if (point.imported != nullptr) {  // independent of the file's name
    task.spec.graph = {};
    task.spec.imported = point.imported;
    task.spec.local = point.local;
    task.spec.staggered =
        measures_staggered(own.staggered, own.model, point.imported.get(), "sampling.staggered");
    task.spec.seed =
        derived_seed(config().seed, fmt::format("run|{}|graph_{}|{}", name, size.hash, graph));
  }
  task.purpose = purpose;
  task.extends = purpose != "scan" || kind_.extends_scans;
  task.label = fmt::format("p = {}, {}{}{}, {} {}", number_text(point.p), size_text(size),
                           point.label.empty() ? "" : ", ", point.label, purpose, graph + 1);
  task.seconds = point.speed.seconds(index) * size.samples.sites *
                 static_cast<double>(plan.temperatures.size() * task.spec.cycles());
  task.on_result = point.speed.record(index);
  return task;
}

std::vector<PlannedTask> PointTasks::tasks_of_graph(const SizeJob& job, std::uint32_t graph) const {
  const SizePlan& plan = job.size().plan;
  const auto& lists = config().temperature_tasks;
  if (lists.empty()) return {task_of(job, graph, plan, "graph")};
  std::vector<PlannedTask> tasks;
  for (const std::vector<double>& temperatures : lists) {
    const auto wanted = [&](double t) {
      return std::find(plan.temperatures.begin(), plan.temperatures.end(), t) !=
             plan.temperatures.end();
    };
    if (std::none_of(temperatures.begin(), temperatures.end(), wanted)) continue;
    SizePlan part = plan;
    part.temperatures = temperatures;
    tasks.push_back(task_of(job, graph, part, "graph"));
    if (temperatures == lists.front()) continue;
    // Word groups are numbered within a task, so an equal seed would repeat the random numbers.
    TaskSpec& spec = tasks.back().spec;
    std::vector<std::string> words{"temperatures"};
    for (const double t : temperatures) words.push_back(number_text(t));
    spec.seed = derived_seed(spec.seed, fmt::format("{}", fmt::join(words, "|")));
  }
  return tasks;
}

void PointTasks::tune(const SizeJob& job, const SizePlan& likely) {
  if (job.point->schedule || job.point->imported != nullptr) return;
  study_.finish_files(progress_);  // the following speed measurements must not be disturbed
  const ScheduleRequest request = request_of(study_, job, task_of(job, 0, likely, "tune"));
  const ChosenSchedule chosen = choose_schedule(study_.folder(), request, stop_);
  if (chosen.tuned) {
    progress_.line(fmt::format("p = {}, {}: schedule {}, {}", number_text(job.point->p),
                               extents_text(request.spec.graph.extents), to_string(chosen),
                               chosen.reason));
  }
  Updates& planned = job.size().plan;
  planned = chosen;
}

std::vector<ScanResult> PointTasks::scan(std::span<const ScanJob> jobs, double later) {
  std::vector<PlannedTask> tasks;
  std::vector<ScanResult> results(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    results[i].temperatures = jobs[i].plan.temperatures;
    results[i].graphs.resize(kScanGraphs);
    for (std::uint32_t g = 0; g < kScanGraphs; ++g) {
      tasks.push_back(
          task_of(*jobs[i].point, *jobs[i].size, jobs[i].index, g, jobs[i].plan, "scan"));
    }
  }
  expect(rewise::seconds_of(tasks), later);
  std::atomic<std::size_t> done = 0;
  progress_.count(0, tasks.size(), part_);
  run(tasks, [&](std::size_t index, TaskData&& data) {
    progress_.count(++done, tasks.size(), part_);
    results[index / kScanGraphs].graphs[index % kScanGraphs] =
        graph_sample(tasks[index].spec, std::move(data), {});
  });
  return results;
}

void PointTasks::find_times(std::span<const SizeJob> jobs, double later) {
  std::vector<EquilibriumSearch> searches;
  for (const SizeJob& job : jobs) {
    searches.push_back({&job.size().plan, job.point->p, job.size().samples.sites, job.graphs,
                        [this, &job](std::uint32_t graph, const SizePlan& plan) {
                          return task_of(job, graph, plan, "pilot");
                        },
                        ""});
  }
  establish_equilibrium(config(), searches,
                        [&](const std::vector<PlannedTask>& tasks, const TaskHandler& handle) {
                          expect(rewise::seconds_of(tasks), later);
                          run(tasks, handle);
                        });
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (searches[i].failed.empty()) continue;
    jobs[i].point->warnings.push_back(fmt::format("{}: no equilibrium by pilots: {}",
                                                  size_text(jobs[i].size()), searches[i].failed));
  }
}

void PointTasks::fill(std::span<const SizeJob> jobs) {
  if (config().equilibrate) {
    for (const SizeJob& job : jobs) {
      const SizeData& size = job.size();
      const std::string isolated = isolated_sites_warning(
          config(), task_of(job, 0, size.plan, "graph").spec.graph, size.samples.sites, size.plan);
      if (isolated.empty()) continue;
      const std::string warning = fmt::format("{}: {}", size_text(size), isolated);
      const std::lock_guard lock(mutex_);
      auto& warnings = job.point->warnings;
      if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
    }
    return fill_once(jobs);
  }
  fill_once(jobs);
  // Continues sizes whose halves disagree or whose tau_int is longer than that of the pilots, until
  // neither is the case.
  while (true) {
    std::vector<SizeJob> again;
    for (const SizeJob& job : jobs) {
      SizeData& size = job.size();
      if (!compare_halves(size).agree) {
        if (!discard_more(size.plan)) continue;
        progress_.line(
            fmt::format("p = {}, {}: hot and cold starts differ; all measurements so far "
                        "are dropped and {} new ones are made",
                        number_text(job.point->p), size_text(size), size.plan.measure));
      } else if (!discard(size.plan, measurements_to_drop(size))) {
        continue;
      }
      again.push_back(job);
    }
    if (again.empty()) return;
    expect_more(seconds_to_fill(again));
    fill_once(again);
  }
}

void PointTasks::fill_round(const std::string& errors, std::span<const SizeJob> jobs, double left) {
  const double target = *config().target_error;
  progress_.line(
      fmt::format("round {}: relative error {} target {:.2g}", ++round_, errors, target));
  stage(fmt::format("to {:.2g}", target));
  const double now = seconds_to_fill(jobs);
  expect(now, std::max(left - now, 0.0), false);
  fill(jobs);
}

std::vector<PointTasks::Missing> PointTasks::missing(const SizeJob& job) const {
  const SizePlan& plan = job.size().plan;
  const auto& graphs = job.size().samples.graphs;
  std::vector<Missing> list;
  for (std::uint32_t g = 0; g < std::max<std::size_t>(job.graphs, graphs.size()); ++g) {
    const std::uint64_t done = g < graphs.size() ? graphs[g].discarded + graphs[g].measurements : 0;
    if (done == plan.discard + plan.measure) continue;
    list.push_back({g, tasks_of_graph(job, g)});
    if (done == 0) continue;
    for (PlannedTask& task : list.back().tasks) {  // continues where it was
      task.seconds *= static_cast<double>((task.spec.measure - done) * task.spec.every) /
                      static_cast<double>(task.spec.cycles());
    }
  }
  return list;
}

double PointTasks::seconds_to_fill(std::span<const SizeJob> jobs) const {
  double seconds = 0;
  for (const SizeJob& job : jobs) {
    for (const Missing& graph : missing(job)) seconds += rewise::seconds_of(graph.tasks);
  }
  return seconds;
}

void PointTasks::abandon(const SizeJob& job) {
  const auto graphs = static_cast<std::uint32_t>(job.size().samples.graphs.size());
  for (std::uint32_t g = 0; g < graphs; ++g) {
    for (const PlannedTask& task : tasks_of_graph(job, g)) study_.abandon(task.spec);
  }
}

void PointTasks::fill_once(std::span<const SizeJob> jobs) {
  // A graph is complete once all its tasks are.
  struct Incomplete {
    const SizeJob* job = nullptr;
    std::uint32_t graph = 0;
    std::size_t tasks = 0;
    std::vector<TaskData> parts;
  };
  std::vector<PlannedTask> tasks;
  std::vector<std::size_t> incomplete_of;  // [task]
  std::vector<Incomplete> incomplete;
  for (const SizeJob& job : jobs) {
    for (Missing& one : missing(job)) {
      incomplete_of.resize(incomplete_of.size() + one.tasks.size(), incomplete.size());
      incomplete.push_back({&job, one.graph, one.tasks.size(), {}});
      std::move(one.tasks.begin(), one.tasks.end(), std::back_inserter(tasks));
    }
    auto& samples = job.size().samples;
    samples.graphs.resize(std::max<std::size_t>(samples.graphs.size(), job.graphs));
    samples.spec = task_of(job, 0, job.size().plan, "graph").spec.graph;
  }
  run(tasks, [&](std::size_t index, TaskData&& data) {
    Incomplete& one = incomplete[incomplete_of[index]];
    SizeData& size = one.job->size();
    const SizePlan& plan = size.plan;
    SizeSamples& samples = size.samples;
    keep_first(data, tasks[index].spec.measure);
    if (!config().temperature_tasks.empty()) {
      const std::lock_guard lock(mutex_);
      one.parts.push_back(std::move(data));
      if (one.parts.size() < one.tasks) return;
      data = at_temperatures(std::move(one.parts), plan.temperatures);
    }
    if (samples.graphs.size() == 1) {
      TaskData counted = data;
      drop_first(counted, plan.discard);
      size.single = results_of(counted);
    }
    samples.graphs[one.graph] =
        graph_sample(tasks[index].spec, std::move(data), samples.grid,
                     {.thermal_noise = config().target_error.has_value(),
                      .discard = plan.discard,
                      .energies = samples.energies ? &*samples.energies : nullptr});
  });
}

double PointTasks::seconds_of(const SizeJob& job) const {
  return task_of(job, 0, job.size().plan, "graph").seconds * job.graphs;
}

double PointTasks::seconds_done(StudyPoint& point, std::size_t size) const {
  const auto graphs = static_cast<std::uint32_t>(point.sizes[size].samples.graphs.size());
  return seconds_of({&point, size, graphs});
}

double PointTasks::seconds_from(StudyPoint& point, std::span<const SizeData> sizes,
                                std::size_t first) const {
  const auto known = std::find_if(point.sizes.rbegin(), point.sizes.rend(),
                                  [](const SizeData& size) { return size.plan.measure > 0; });
  double seconds = 0;
  for (std::size_t k = first; k < sizes.size(); ++k) {
    const SizeData& size = sizes[k];
    // The estimate does not depend on the schedule, so any p will do for the likely plan.
    const SizePlan plan = known != point.sizes.rend()
                              ? known->plan
                              : likely_plan(config(), kind_.likely, 0, size.samples.sites);
    seconds += task_of(point, size, k, 0, plan, "graph").seconds * size.first_graphs;
  }
  return seconds;
}

}  // namespace rewise

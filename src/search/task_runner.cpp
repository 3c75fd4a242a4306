#include "src/search/task_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <thread>

#include "src/base/error.hpp"
#include "src/results/task_results.hpp"
#include "src/search/auto_schedule.hpp"
#include "src/search/costs.hpp"
#include "src/search/equilibrium.hpp"
#include "src/search/target_rounds.hpp"
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
  const bool measured = job.speed->measured();
  const double seconds = measured || cuda || words ? task.seconds : cpu_seconds(spec, 1);
  const double on_core = std::max(cuda ? 0 : seconds, least_cpu_seconds(spec));
  ScheduleRequest request;
  request.spec = spec;
  request.improved = job.size->samples.improved;
  request.any_cluster = !study.config().cluster;
  request.recompute_damaged = study.config().recompute_damaged;
  request.rule_of_thumb = request.fallback = {job.size->plan.schedule, spec.cluster};
  if (gpu) request.fallback = cuda_rule(spec, request.any_cluster);
  request.work = tasks * on_core;
  const double sites = site_count(spec.graph.extents);
  const double replicas = static_cast<double>(spec.temperatures.size()) * spec.replicas;
  double on_device = seconds;
  if (gpu) {
    // cuda_seconds() holds for a full device, whereas single tasks left a part of it idle. A cycle
    // of sweeps alone is short but has a larger overhead.
    const double cycle =
        std::max(cuda_seconds(spec.model, request.fallback.schedule, request.fallback.cluster,
                              spec.graph.p, sites),
                 cuda_seconds(spec.model, {1, 1}, spec.cluster, spec.graph.p, sites));
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

double TaskSpeed::of(std::size_t size) const {
  const std::lock_guard lock(*mutex_);
  return known(size);
}

bool TaskSpeed::measured() const {
  const std::lock_guard lock(*mutex_);
  return !known_.empty();
}

std::function<void(const TaskData&)> TaskSpeed::record(std::size_t size) {
  return [this, size](const TaskData& data) { note(size, data); };
}

void TaskSpeed::note(std::size_t size, const TaskData& data) {
  const auto cycles = static_cast<double>(stored_spec(data).cycles());
  if (!data.provenance.contains("work.seconds")) return;
  const double units = cycles * static_cast<double>(data.graph.sites * data.temperature.size());
  const std::lock_guard lock(*mutex_);
  if (known_.size() <= size) known_.resize(size + 1, known(size));
  known_[size] = number_at(data.provenance, "work.seconds") / units;
}

void TaskRunner::run(const std::vector<PlannedTask>& tasks, const TaskHandler& handle) {
  computed_ += study_.run(tasks, stop_, progress_, handle);
}

void TaskRunner::tune(const SizeJob& job, SizePlan likely) {
  if (!config().schedule)
    study_.finish_files(progress_);  // the following speed measurements must not be disturbed
  const ScheduleRequest request = request_of(study_, job, job.task(0, likely, "tune"));
  const ChosenSchedule chosen = choose_schedule(study_.folder(), request, stop_);
  if (chosen.tuned) {
    progress_.line(fmt::format("p = {}, {}: schedule {}, {}", number_text(job.p),
                               extents_text(request.spec.graph.extents), to_string(chosen),
                               chosen.reason));
  }
  Updates& planned = job.size->plan;
  planned = chosen;
}

std::vector<ScanResult> TaskRunner::scan(std::span<const ScanJob> jobs, double later) {
  std::vector<PlannedTask> tasks;
  std::vector<ScanResult> results(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    results[i].temperatures = jobs[i].plan.temperatures;
    results[i].graphs.resize(kScanGraphs);
    for (std::uint32_t g = 0; g < kScanGraphs; ++g) {
      tasks.push_back(jobs[i].task(g, jobs[i].plan, "scan"));
    }
  }
  expect(seconds_of(tasks), later);
  std::atomic<std::size_t> done = 0;
  progress_.count(0, tasks.size(), part_);
  run(tasks, [&](std::size_t index, TaskData&& data) {
    progress_.count(++done, tasks.size(), part_);
    results[index / kScanGraphs].graphs[index % kScanGraphs] =
        reduce(tasks[index].spec, std::move(data), {});
  });
  return results;
}

void TaskRunner::find_times(std::span<const SizeJob> jobs, double later) {
  std::vector<EquilibriumSearch> searches;
  for (const SizeJob& job : jobs) {
    searches.push_back({&job.size->plan, job.p, job.size->samples.sites, job.graphs,
                        [&job](std::uint32_t graph, const SizePlan& plan) {
                          return job.task(graph, plan, "pilot");
                        },
                        ""});
  }
  establish_equilibrium(config(), searches,
                        [&](const std::vector<PlannedTask>& tasks, const TaskHandler& handle) {
                          expect(seconds_of(tasks), later);
                          run(tasks, handle);
                        });
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (searches[i].failed.empty()) continue;
    jobs[i].warnings->push_back(fmt::format("{}: no equilibrium by pilots: {}",
                                            size_text(*jobs[i].size), searches[i].failed));
  }
}

double TaskRunner::fill(std::span<const SizeJob> jobs) {
  if (config().equilibrate) {
    for (const SizeJob& job : jobs) {
      const SizePlan& plan = job.size->plan;
      const std::string lone = lone_sites_warning(config(), job.task(0, plan, "graph").spec.graph,
                                                  job.size->samples.sites, plan);
      if (lone.empty()) continue;
      const std::string warning = fmt::format("{}: {}", size_text(*job.size), lone);
      const std::lock_guard lock(mutex_);
      auto& warnings = *job.warnings;
      if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
    }
    return fill_once(jobs);
  }
  double seconds = fill_once(jobs);
  // Continues sizes whose halves disagree or whose tau_int is longer than that of the pilots, until
  // neither is the case.
  while (true) {
    std::vector<SizeJob> again;
    for (const SizeJob& job : jobs) {
      SizeData& size = *job.size;
      if (!compare_halves(size).agree) {
        if (!discard_more(size.plan)) continue;
        progress_.line(
            fmt::format("p = {}, {}: hot and cold starts differ; all measurements so far "
                        "are dropped and {} new ones are made",
                        number_text(job.p), size_text(size), size.plan.measure));
      } else if (!discard(size.plan, measurements_to_drop(size))) {
        continue;
      }
      again.push_back(job);
    }
    if (again.empty()) return seconds;
    expect_more(seconds_to_fill(again));
    seconds += fill_once(again);
  }
}

std::vector<TaskRunner::Missing> TaskRunner::missing(const SizeJob& job) const {
  const SizePlan& plan = job.size->plan;
  const auto& graphs = job.size->samples.graphs;
  std::vector<Missing> list;
  for (std::uint32_t g = 0; g < std::max<std::size_t>(job.graphs, graphs.size()); ++g) {
    const std::uint64_t done = g < graphs.size() ? graphs[g].discarded + graphs[g].measurements : 0;
    if (done == plan.discard + plan.measure) continue;
    list.push_back({g, job.tasks_of_graph(g)});
    if (done == 0) continue;
    for (PlannedTask& task : list.back().tasks) {  // continues where it was
      task.seconds *= static_cast<double>((task.spec.measure - done) * task.spec.every) /
                      static_cast<double>(task.spec.cycles());
    }
  }
  return list;
}

double TaskRunner::seconds_to_fill(std::span<const SizeJob> jobs) const {
  double seconds = 0;
  for (const SizeJob& job : jobs) {
    for (const Missing& graph : missing(job)) seconds += seconds_of(graph.tasks);
  }
  return seconds;
}

void TaskRunner::abandon(const SizeJob& job) {
  const auto graphs = static_cast<std::uint32_t>(job.size->samples.graphs.size());
  for (std::uint32_t g = 0; g < graphs; ++g) {
    for (const PlannedTask& task : job.tasks_of_graph(g)) study_.abandon(task.spec);
  }
}

double TaskRunner::fill_once(std::span<const SizeJob> jobs) {
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
    auto& samples = job.size->samples;
    samples.graphs.resize(std::max<std::size_t>(samples.graphs.size(), job.graphs));
    samples.spec = job.task(0, job.size->plan, "graph").spec.graph;
  }
  run(tasks, [&](std::size_t index, TaskData&& data) {
    Incomplete& one = incomplete[incomplete_of[index]];
    const SizePlan& plan = one.job->size->plan;
    SizeSamples& samples = one.job->size->samples;
    keep_first(data, tasks[index].spec.measure);
    if (!config().temperature_tasks.empty()) {
      const std::lock_guard lock(mutex_);
      one.parts.push_back(std::move(data));
      if (one.parts.size() < one.tasks) return;
      data = at_temperatures(std::move(one.parts), plan.temperatures);
    }
    if (samples.graphs.size() == 1 && one.job->of_graph != nullptr) {
      TaskData counted = data;
      drop_first(counted, plan.discard);
      *one.job->of_graph = results_of(counted);
    }
    samples.graphs[one.graph] =
        reduce(tasks[index].spec, std::move(data), samples.grid, config().target_error.has_value(),
               plan.discard, samples.energies ? &*samples.energies : nullptr);
  });
  return seconds_of(tasks);
}

void TaskRunner::expect(double now, double later, bool guessed) {
  const std::lock_guard lock(mutex_);
  planned_ += now;
  later_ = later;
  guessed_ = guessed ? later : 0;
  progress_.set_total(planned_ + later_, guessed_, part_);
}

void TaskRunner::expect_more(double seconds) {
  const std::lock_guard lock(mutex_);
  planned_ += seconds;
  progress_.set_total(planned_ + later_, guessed_, part_);
}

void TaskRunner::begin_round(const std::string& errors, double left) {
  const double target = *config().target_error;
  progress_.line(
      fmt::format("round {}: relative error {} target {:.2g}", ++round_, errors, target));
  stage(fmt::format("to {:.2g}", target));
  expect(0, left, false);
}

void side_by_side(Study& study, const std::vector<std::function<void()>>& searches) {
  std::mutex mutex;
  std::exception_ptr failure, interruption;
  const auto guarded = [&](const std::function<void()>& search) {
    const auto note = [&](std::exception_ptr& first) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    };
    try {
      search();
    } catch (const Error& error) {
      const bool interrupted = error.exit_code() == ExitCode::interrupted;
      if (!interrupted) study.fail(std::current_exception());
      note(interrupted ? interruption : failure);
    } catch (...) {
      study.fail(std::current_exception());
      note(failure);
    }
  };
  std::size_t begun = 1;
  {
    std::vector<std::jthread> beside;
    try {
      for (; begun < searches.size(); ++begun) {
        beside.emplace_back([&, begun] { guarded(searches[begun]); });
      }
    } catch (const std::exception&) {  // no thread can be started: the search runs afterwards
    }
    guarded(searches.front());
  }
  for (; begun < searches.size() && !failure && !interruption; ++begun) guarded(searches[begun]);
  if (failure) std::rethrow_exception(failure);
  if (interruption) std::rethrow_exception(interruption);
}

double seconds_done(const SizeJob& job) {
  return job.task(0, job.size->plan, "graph").seconds *
         static_cast<double>(job.size->samples.graphs.size());
}

double seconds_of(std::span<const PlannedTask> tasks) {
  double seconds = 0;
  for (const PlannedTask& task : tasks) seconds += task.seconds;
  return seconds;
}

}  // namespace rewise

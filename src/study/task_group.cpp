#include "src/study/task_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "src/base/clock.hpp"
#include "src/settings/engines.hpp"
#include "src/settings/memory_need.hpp"
#include "src/settings/parse.hpp"
#include "src/study/make_engine.hpp"

namespace rewise {
namespace {

// Work that keeps a device busy: words per sweep, and word groups whose clusters grow at once (an
// H200 needs 2.1 us per Wolff update of L = 1024 with 4 word groups, 0.6 us with 32:
// tests/bench/RESULTS.md). Memory limits the number of word groups and the series of a group.
constexpr double kFillingWords = 1 << 22, kFillingGroups = 32, kMaxWords = 1 << 26;
constexpr double kWorthwhile = 16;  // a group that fills 1/16 of the device sweeps at full speed
// Above this size, writing the files takes about as long as the engines.
constexpr double kLargeSeries = 64.0 * (1 << 20);  // bytes
constexpr double kMaxSeries = 2.0 * (1 << 30);     // bytes

std::mutex& preparation_mutex(int device) {
  static std::mutex guard;
  static std::map<int, std::mutex> mutexes;
  const std::lock_guard lock(guard);
  return mutexes[device];
}

}  // namespace

TaskGroup::TaskGroup(std::vector<TaskJob> jobs, const TaskRunOptions& run, HostThreads& host,
                     bool ahead)
    : run_(run), host_(host) {
  const HandOver hand_over = [this](double bytes, std::function<void()> job, Urgency urgency) {
    to_host(bytes, std::move(job), urgency);
  };
  for (TaskJob& job : jobs) tasks_.emplace_back(std::move(job), hand_over);
  host_.for_each(tasks_.size(), [&](std::size_t k) {
    const bool over = ahead && run_.stop.stop_requested();
    tasks_[k].guarded([&] { over ? tasks_[k].abandon() : tasks_[k].claim(); });
  });
}

TaskGroup::~TaskGroup() {
  std::unique_lock lock(mutex_);
  written_.wait(lock, [this] { return writing_ == 0; });
}

bool TaskGroup::open() const {
  return std::ranges::any_of(tasks_, [](const auto& task) { return task.open(); });
}

double TaskGroup::device_bytes() const {
  double sum = 0;
  for (const ClaimedTask& task : tasks_) {
    if (task.open()) sum += memory_need(task.spec(), 1, true, true).device;
  }
  return sum;
}

// Tasks with a warm-up do it together, then all tasks measure.
void TaskGroup::run() {
  last_ = now();
  begin(true);
  work();
  if (engines_ == nullptr) begin(false);
  work();
}

bool TaskGroup::is_at_work(const ClaimedTask& task) const {
  return task.open() && task.warming() == warming_;
}

// Runs rounds until all tasks with engines are done.
void TaskGroup::work() {
  const auto busy = [this](const ClaimedTask* task) { return is_at_work(*task); };
  while (std::ranges::any_of(running_, busy)) round();
  if (warming_ && change_updates()) return;
  for (ClaimedTask* task : running_) {
    if (task->open()) task->guarded([&] { task->detach(); });
  }
  drop_engines();
}

// Switches the engines from warm-up to measurement if they can; false if new engines are needed.
bool TaskGroup::change_updates() {
  const bool all = engines_ != nullptr && running_.size() == tasks_.size() &&
                   std::ranges::all_of(running_, [](auto* task) { return task->open(); });
  if (!all || !engines_->change_cluster(running_.front()->spec().cluster)) return false;
  warming_ = false;
  budget_ = 1;
  try {
    in_turn([&] { engines_->prepare(schedule()); });
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::interrupted) throw;
    for (ClaimedTask* task : running_) task->guarded([&] { task->interrupt(); });
  }
  share_time();
  return true;
}

void TaskGroup::drop_engines() {
  engines_.reset();
  for (ClaimedTask& task : tasks_) {
    if (!task.open()) task.drop_graph();
  }
}

// Creates engines for the tasks that warm up, or for those that have finished the warm-up.
void TaskGroup::begin(bool warming) {
  running_.clear();
  warming_ = warming;
  for (ClaimedTask& task : tasks_) {
    if (task.open() && task.warming() == warming) running_.push_back(&task);
  }
  const auto make = [&] {
    in_turn([&] {
      engines_ = make_engines();
      engines_->prepare(schedule());
    });
  };
  if (running_.empty() || !prepared(make)) return;
  for (std::size_t k = 0; k < running_.size(); ++k) {
    running_[k]->guarded([&] { running_[k]->attach(engines_->engine(k)); });
  }
  budget_ = 1;
  share_time();
}

// Runs f while no other group of the same CUDA device prepares. Each group prepares its engines on
// all cores, so that the device starts with the first group while the next one is prepared.
template <class F>
void TaskGroup::in_turn(const F& f) {
  std::unique_lock<std::mutex> mine(preparation_mutex(run_.engine.device), std::defer_lock);
  if (run_.engine.device >= 0) mine.lock();
  f();
}

const Schedule& TaskGroup::schedule() const {
  const TaskSpec& spec = running_.front()->spec();
  return warming_ ? spec.warm_up.updates.schedule : spec.schedule;
}

// Returns false if a stop request interrupted f, before any task made a step with these engines.
template <class F>
bool TaskGroup::prepared(const F& f) {
  try {
    f();
    return true;
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::interrupted) throw;
  }
  for (ClaimedTask* task : running_) {
    if (task->open()) task->guarded([&] { task->abandon(); });
  }
  return false;
}

std::unique_ptr<EngineBatch> TaskGroup::make_engines() const {
  const EngineKind engine = running_.front()->spec().engine;
  EngineOptions options = run_.engine;
  options.stop = [this] { return run_.stop.stop_requested(); };
  std::vector<BatchTask> tasks;
  std::vector<std::unique_ptr<Engine>> regular;
  for (const ClaimedTask* task : running_) {
    const EngineSpec spec = task->engine_spec();
    if (needs_graph(task->spec())) {
      tasks.push_back({task->graph(), spec});
    } else {
      const auto& extents = task->spec().graph.extents;
      regular.push_back(make_engine(engine, nullptr, extents, spec, options));
    }
  }
  return regular.empty() ? make_batch(engine, tasks, options)
                         : make_plain_batch(std::move(regular));
}

// Adds a job to the host threads. The job keeps the group in memory.
void TaskGroup::to_host(double bytes, std::function<void()> job, Urgency urgency) {
  const auto count = [this](std::size_t more) {
    const std::lock_guard lock(mutex_);
    writing_ += more;
    if (writing_ == 0) written_.notify_all();
  };
  count(1);
  try {
    host_.add(
        bytes,
        [count, job = std::move(job), group = weak_from_this().lock()] {
          job();
          count(std::size_t{0} - 1);
        },
        urgency);
  } catch (...) {
    count(std::size_t{0} - 1);
    throw;
  }
}

void TaskGroup::round() {
  std::map<EngineCall, LockstepTasks> calls;
  for (std::size_t k = 0; k < running_.size(); ++k) {
    if (!is_at_work(*running_[k]) || running_[k]->complete()) continue;
    std::size_t count = 1;
    LockstepTasks& lockstep = calls[running_[k]->next_call(budget_, count)];
    lockstep.tasks.push_back(k);
    lockstep.count = std::min(lockstep.count, count);
  }
  bool stop = false;
  for (auto& [call, lockstep] : calls) {
    if (!prepared([&] { advance(call, lockstep); })) return;
    stop = run_.stop.stop_requested();
    if (stop) break;
  }
  share_time();
  for (ClaimedTask* task : running_) {
    if (task->open() && task->complete()) {
      task->guarded([&] { task->hand_over_result(); });
    }
  }
  for (ClaimedTask* task : running_) {
    if (!task->open()) continue;
    task->guarded([&] {
      if (task->complete()) {
        task->finish();
      } else if (stop) {
        task->interrupt();
      } else {
        task->checkpoint_after(run_.checkpoint);
      }
    });
  }
}

// Advances the engines by about 0.1 s of work.
void TaskGroup::advance(const EngineCall& call, LockstepTasks& lockstep) {
  const double begin = now();
  const Schedule& updates = schedule();
  std::vector<std::size_t> times(lockstep.tasks.size());  // fewer than `count` after a stop request
  {
    if (call.measured) {
      const SampleSink sink = [&](std::size_t i, const Samples& some) {
        ClaimedTask& task = *running_[lockstep.tasks[i]];
        task.guarded([&] { task.append(some); });
      };
      times = engines_->sample(lockstep.tasks, updates, call.cycles, lockstep.count, sink);
    } else {
      const std::vector<bool> done = engines_->advance(lockstep.tasks, updates, call.cycles);
      for (std::size_t i = 0; i < times.size(); ++i) times[i] = done[i] ? 1 : 0;
    }
  }
  const std::uint64_t cycles = call.cycles * lockstep.count;
  const double seconds = std::max(now() - begin, 1e-9);
  budget_ = std::clamp<std::uint64_t>(
      static_cast<std::uint64_t>(0.1 * static_cast<double>(cycles) / seconds), 1, 2 * budget_);
  for (std::size_t i = 0; i < times.size(); ++i) {
    ClaimedTask& task = *running_[lockstep.tasks[i]];
    if (task.open()) task.guarded([&] { task.count_cycles(call.cycles * times[i]); });
  }
}

// Divides the time since the last call among the running tasks.
void TaskGroup::share_time() {
  const auto runs = [](const ClaimedTask* m) { return m->open(); };
  const auto count = std::count_if(running_.begin(), running_.end(), runs);
  const double seconds = now() - last_;
  for (ClaimedTask* task : running_) {
    if (runs(task)) task->spend(seconds / static_cast<double>(count));
  }
  last_ = now();
}

bool run_together(const TaskSpec& a, const TaskSpec& b) {
  const auto shape = [](const TaskSpec& s) {
    return std::tuple(s.graph.extents, s.engine, s.model, s.local, s.cluster, s.temperatures.size(),
                      s.replicas, s.warm_up.cycles > 0);
  };
  const bool warm_alike = a.warm_up.cycles == 0 || a.warm_up.updates == b.warm_up.updates;
  return factory(a.engine).batches() && a.imported == nullptr && b.imported == nullptr &&
         shape(a) == shape(b) && a.schedule == b.schedule && warm_alike;
}

double filling_groups(double sites) {
  const double room = std::min(kFillingGroups, std::floor(kMaxWords / sites));
  return std::max({std::ceil(kFillingWords / sites), room, 1.0});
}

GroupSize group_size(const TaskSpec& spec) {
  if (!factory(spec.engine).batches() || spec.imported != nullptr) return {};
  const double replicas = static_cast<double>(spec.temperatures.size()) * spec.replicas;
  const double series = series_bytes(spec);
  const double filling = filling_groups(site_count(spec));
  const double tasks = std::ceil(filling / (replicas / 32));
  const auto count = [](double wanted) {
    return static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(kMaxBatch)));
  };
  const double launched = std::floor(kMaxGroups / std::ceil(replicas / 32));
  const std::size_t max_tasks = count(std::min({tasks, launched, kMaxSeries / series}));
  const auto holding = [&](double word_groups) {
    return std::min(max_tasks, count(std::ceil(word_groups / (replicas / 32))));
  };
  const std::size_t worthwhile_tasks = holding(filling / kWorthwhile);
  if (static_cast<double>(max_tasks) * series <= kLargeSeries)
    return {max_tasks, max_tasks, worthwhile_tasks};
  return {max_tasks, holding(std::max(filling / kWorthwhile, kFillingGroups)), worthwhile_tasks};
}

std::vector<TaskResult> run_tasks(std::vector<TaskJob> jobs, const TaskRunOptions& run) {
  std::vector<TaskResult> results(jobs.size());
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    jobs[k].on_closed = [&results, k](TaskResult&& result) { results[k] = std::move(result); };
  }
  HostThreads none(0);
  TaskGroup(std::move(jobs), run, none).run();
  return results;
}

}  // namespace rewise

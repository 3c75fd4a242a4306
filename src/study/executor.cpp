#include "src/study/executor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "src/base/count_text.hpp"
#include "src/base/error.hpp"
#include "src/base/scope_exit.hpp"
#include "src/base/setting_name.hpp"
#include "src/settings/engines.hpp"
#include "src/settings/memory_need.hpp"
#include "src/store/lease.hpp"
#include "src/store/task_pack.hpp"
#include "src/study/ranks.hpp"

namespace rewise {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// If other processes hold all tasks of a list: the time between retries, and the time until a
// message.
constexpr auto kRetry = 200ms;
constexpr auto kFirstWord = 5s, kNextWords = 60s;

// Groups that run at once on a CUDA device, per list, if the engine of all its tasks advances
// several tasks together (EngineFactory::batches()). While one group waits for the host, or is too
// small to fill the device, another one runs.
constexpr std::size_t kLanes = 3;

// Groups that may exist per CPU thread: one runs while the files of another are written. On CUDA
// devices, only host memory limits the number of groups.
constexpr std::size_t kGroupsPerThread = 2;

// Number of new task files at which packing starts while the study runs.
constexpr std::size_t kManyFiles = 1000;

constexpr int kNoDevice = -2;

// Host threads need stacks: returns 0 if less than 1 GiB is free.
int host_threads(int threads) { return memory_room().bytes < 1u << 30 ? 0 : threads; }

// Lists all damaged results: those that tasks reported and every other file of the folder with a
// wrong digest, so that a single run reports all of them.
std::string damaged_text(const std::filesystem::path& folder, std::vector<std::string> messages) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder / "tasks", error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::filesystem::path& file = entry->path();
    const std::string name = file.string();
    if (file.extension() != ".h5" ||
        std::any_of(messages.begin(), messages.end(),
                    [&](const auto& line) { return line.find(name) != std::string::npos; })) {
      continue;
    }
    const SealedRead read = read_sealed(file);
    if (read.state != SealState::damaged ||
        read_sealed(previous_path(file)).state == SealState::good) {
      continue;
    }
    messages.push_back(fmt::format("{} ({})", name, read.problem));
  }
  return fmt::format(
      "{} damaged: {}; all other available tasks are done ({} sets damaged files aside and "
      "computes them again)",
      messages.size() == 1 ? "a result is" : fmt::format("{} results are", messages.size()),
      fmt::join(messages, "; "), setting_name("recompute_damaged"));
}

}  // namespace

// The tasks of one call of run(). Constant members are read without the executor's lock; the
// handler is called only until run() returns.
struct Executor::List {
  List(std::vector<PlannedTask> all, const StopToken& token, Progress& show,
       const TaskHandler& take)
      : tasks(std::move(all)), stop(token), progress(show), handle(take), missing(tasks.size()) {
    for (const PlannedTask& task : tasks) ids.push_back(task_id(task.spec));
    pending.resize(tasks.size());
    std::iota(pending.begin(), pending.end(), std::size_t{0});
    // The longest tasks start first, so that no long task runs alone at the end.
    std::ranges::stable_sort(pending, {}, [this](std::size_t k) { return tasks[k].seconds; });
    if (std::ranges::all_of(tasks,
                            [](const auto& task) { return factory(task.spec.engine).batches(); })) {
      lanes = kLanes;
    }
  }

  std::vector<std::size_t> take_group(bool on_cpu, std::size_t devices);
  // True once all results except those of damaged tasks were passed on.
  bool is_done() const { return missing == damaged.size(); }

  const std::vector<PlannedTask> tasks;
  const StopToken stop;
  Progress& progress;
  const TaskHandler& handle;
  std::vector<std::string> ids;      // [tasks]
  std::vector<std::size_t> pending;  // waiting tasks; taken from the back
  std::size_t lanes = 1;             // groups that run on a device at once
  AdmissionControl::Plan plan;
  double left = 0;                // expected seconds of waiting tasks
  double share = 0;               // expected seconds of all tasks, divided by plan.max_groups
  std::size_t missing;            // results
  std::size_t computed = 0;       // tasks without a result file before
  std::set<std::size_t> written;  // tasks whose file was written before the result was passed on
  std::size_t first_groups = 0;   // groups taken so far; the first ones must start soon
  std::size_t preparing = 0, ready = 0;  // groups
  std::map<int, std::size_t> running;    // groups, by device
  bool begun = false, interrupted = false;
  std::vector<std::string> damaged;  // messages of damaged tasks
  std::size_t held_in_a_row = 0;     // since the last result
  std::string holder, waits_for;     // owner of a task that was held, and the label of that task
  std::optional<Clock::time_point>
      waiting_since;  // set while only tasks of other processes are left
  Clock::time_point last_message, retry_at;
};

// Takes the next group. On a CUDA device, it contains several tasks of one shape, but leaves enough
// tasks for the other lanes. The first group of each device contains the shortest tasks, so that
// the device starts while the longest tasks are prepared.
std::vector<std::size_t> Executor::List::take_group(bool on_cpu, std::size_t devices) {
  const bool shortest = !on_cpu && first_groups < devices;
  ++first_groups;
  if (shortest) std::ranges::reverse(pending);
  const PlannedTask& first = tasks[pending.back()];
  // A group has at most the seconds of `share` and of a device's share of the remaining work. It
  // has at most half of the tasks that remain for each of plan.max_groups groups, so that the first
  // files are written while the last tasks are measured. If series are small, size.min_tasks
  // overrides this.
  const double most_seconds = std::min(share, left / static_cast<double>(devices)) * (1 - 1e-9);
  const GroupSize size = group_size(first.spec);
  const std::size_t half = (pending.size() + 2 * plan.max_groups - 1) / (2 * plan.max_groups);
  const std::size_t most = on_cpu ? 1 : std::clamp(half, size.min_tasks, size.max_tasks);
  std::vector<std::size_t> group;
  double seconds = 0;
  for (std::size_t k = pending.size(); k-- > 0 && group.size() < most;) {
    if (seconds >= most_seconds && group.size() >= size.worthwhile_tasks) break;
    const PlannedTask& task = tasks[pending[k]];
    if (!group.empty() && !run_together(first.spec, task.spec)) continue;
    group.push_back(pending[k]);
    seconds += task.seconds;
    pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(k));
  }
  left -= seconds;
  if (shortest) std::ranges::reverse(pending);
  return group;
}

Executor::Executor(const StudyFolder& folder, std::vector<int> devices, int threads)
    : folder_(folder),
      devices_(std::move(devices)),
      on_cpu_(devices_.front() < 0),
      admission_(devices_, threads),
      host_(host_threads(threads)) {}

Executor::~Executor() {
  {
    std::unique_lock lock(mutex_);
    drain(lock);
    ended_ = true;
    changed_.notify_all();
  }
  workers_.clear();
}

void Executor::fail(std::exception_ptr what) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(what);
  failed_ = true;
  changed_.notify_all();
}

template <class F>
void Executor::guarded(const F& f) {
  try {
    f();
  } catch (...) {
    fail(std::current_exception());
  }
}

// Call under the lock.
void Executor::rethrow() const {
  if (failure_) std::rethrow_exception(failure_);
}

std::size_t Executor::run(std::vector<PlannedTask> tasks, const StopToken& stop, Progress& progress,
                          const TaskHandler& handle) {
  if (tasks.empty()) return 0;
  const auto list = std::make_shared<List>(std::move(tasks), stop, progress, handle);
  std::vector<char> found(list->tasks.size());
  std::list<ListPtr> node{list};
  std::unique_lock lock(mutex_);
  rethrow();
  admit(*list, lock);
  // A task whose file is being written can begin only once that file exists.
  const auto can_begin = [&](const std::string& id) { return !writing_.contains(id); };
  changed_.wait(lock, [&] { return failed_ || std::ranges::all_of(list->ids, can_begin); });
  rethrow();
  lock.unlock();
  guarded([&] {
    std::vector<std::size_t> waiting;
    {
      const std::lock_guard held(mutex_);
      waiting = list->pending;
    }
    host_.for_each(waiting.size(), [&](std::size_t k) {
      if (failed_ || stop.stop_requested()) return;
      found[waiting[k]] = look_for_result(*list, waiting[k]) ? 1 : 0;
    });
  });
  lock.lock();
  std::erase_if(list->pending, [&](std::size_t k) { return found[k] != 0; });
  for (const std::size_t k : list->pending) list->left += list->tasks[k].seconds;
  list->share = list->left / static_cast<double>(list->plan.max_groups);
  lists_.splice(lists_.end(), node);
  const auto over = [&] { return list->is_done() || list->interrupted || failed_; };
  if (!over()) start_worker();
  changed_.notify_all();
  if (workers_.empty()) {  // no thread could be started
    lock.unlock();
    work(over);
    lock.lock();
  }
  changed_.wait(lock, over);
  lists_.remove(list);
  if (list->missing == 0) {
    const std::size_t computed = list->computed;
    lock.unlock();
    start_packing();
    return computed;
  }
  if (!failed_ && !list->interrupted) {
    const std::vector<std::string> damaged = list->damaged;
    lock.unlock();
    guarded([&] { throw Error(ExitCode::data, damaged_text(folder_.path(), damaged)); });
    lock.lock();
  }
  list->interrupted = true;
  list->pending.clear();
  drain(lock);
  rethrow();
  lock.unlock();
  wait_for_other_ranks(this_rank(), folder_.path());
  throw Error(
      ExitCode::interrupted,
      fmt::format("stopped by {}; checkpoints were written; run the same command to continue",
                  stop.reason()));
}

// Waits until no group exists. This includes groups of lists that still run: all lists share one
// stop request and one failure.
void Executor::drain(std::unique_lock<std::mutex>& lock) {
  while (admission_.groups() > 0) {
    changed_.notify_all();
    if (workers_.empty()) {
      lock.unlock();
      work([this] { return admission_.groups() == 0; });
      lock.lock();
      continue;
    }
    changed_.wait(lock, [this] { return admission_.groups() == 0; });
  }
}

// Computes the limits of the list. If a single task does not fit, first waits until the groups of
// other lists have ended.
void Executor::admit(List& list, std::unique_lock<std::mutex>& lock) {
  while (true) {
    try {
      list.plan = admission_.plan(list.tasks, list.lanes);
      break;
    } catch (const Error&) {
      if (admission_.groups() == 0) throw;
    }
    drain(lock);
    rethrow();
  }
  if (list.plan.line.empty() || std::exchange(told_memory_, true)) return;
  lock.unlock();
  if (folder_.leads()) list.progress.line(list.plan.line);
  lock.lock();
}

// Call under the lock. If no thread can be started, existing workers or the caller of run() do the
// work. There are no more workers than CPU threads, because each one has a memory arena.
void Executor::start_worker() {
  if (idle_ > 0 || (on_cpu_ && workers_.size() >= static_cast<std::size_t>(admission_.threads()))) {
    return;
  }
  try {
    workers_.emplace_back([this] { work([this] { return ended_; }); });
  } catch (const std::exception&) {
  }
}

void Executor::work(const std::function<bool()>& over) {
  std::unique_lock lock(mutex_);
  while (!over()) {
    Action action;
    try {
      action = next_action();
    } catch (...) {
      lock.unlock();
      fail(std::current_exception());
      lock.lock();
      continue;
    }
    if (action.kind != Action::Kind::none) {
      start_worker();
      lock.unlock();
      guarded([&] { act(action); });
      action = {};  // release its objects without the lock
      lock.lock();
      changed_.notify_all();
      continue;
    }
    auto next = Clock::time_point::max();
    for (const ListPtr& list : lists_) {
      if (!list->pending.empty() && list->retry_at > Clock::now()) {
        next = std::min(next, list->retry_at);
      }
    }
    ++idle_;
    next == Clock::time_point::max() ? changed_.wait(lock)
                                     : static_cast<void>(changed_.wait_until(lock, next));
    --idle_;
  }
}

// Call under the lock. Returns the next action of a worker and counts it as started.
Executor::Action Executor::next_action() {
  Action action;
  for (auto entry = ready_.begin(); entry != ready_.end(); ++entry) {
    const bool over = failed_ || (entry->list->interrupted && !entry->must_run);
    const int device = over ? -1 : free_device(*entry);
    if (!over && device == kNoDevice) continue;
    action.kind = over ? Action::Kind::drop : Action::Kind::run;
    if (!over) {
      ++entry->list->running[device];
      admission_.begin(device);
      entry->group->set_device(device);
      if (!on_cpu_) admission_.reserve_device(device, entry->on_device);
    }
    --entry->list->ready;
    action.entry.splice(action.entry.end(), ready_, entry);
    return action;
  }
  for (const ListPtr& list : lists_) {
    if (!may_prepare(*list)) continue;
    action.kind = Action::Kind::prepare;
    action.tasks = list->take_group(on_cpu_, devices_.size());
    action.ahead = std::exchange(list->begun, true);
    Entry& entry = action.entry.emplace_back();
    entry.list = list;
    entry.must_run = !action.ahead;
    entry.host = list->plan.task_bytes * static_cast<double>(action.tasks.size());
    admission_.reserve_host(entry.host);
    ++list->preparing;
    break;
  }
  return action;
}

// On a CPU, preparing more tasks saves no time if each thread has a task.
bool Executor::may_prepare(const List& list) {
  if (failed_ || list.interrupted || list.pending.empty() || list.retry_at > Clock::now()) {
    return false;
  }
  if (on_cpu_) {
    const auto threads = static_cast<std::size_t>(admission_.threads());
    std::size_t claimed = admission_.running() + ready_.size();
    for (const ListPtr& other : lists_) claimed += other->preparing;
    if (claimed >= threads) return false;
    if (admission_.groups() >= kGroupsPerThread * threads) return false;
  } else if (list.ready + list.preparing >= list.plan.max_groups) {
    return false;
  }
  return admission_.host_fits(list.plan.group_bytes);
}

// Returns a device where a prepared group may run now, or kNoDevice.
int Executor::free_device(const Entry& entry) {
  if (on_cpu_) {
    return admission_.running() < static_cast<std::size_t>(admission_.threads()) ? -1 : kNoDevice;
  }
  List& list = *entry.list;
  int best = kNoDevice;
  for (const int device : devices_) {
    if (list.running[device] >= list.lanes) continue;
    if (best != kNoDevice && admission_.running(device) >= admission_.running(best)) continue;
    if (admission_.device_fits(device, entry.on_device)) best = device;
  }
  return best;
}

void Executor::act(Action& action) {
  switch (action.kind) {
    case Action::Kind::none:
    case Action::Kind::drop:
      return;
    case Action::Kind::prepare:
      return prepare(action);
    case Action::Kind::run:
      return run_group(action);
  }
}

void Executor::prepare(Action& action) {
  Entry& entry = action.entry.front();
  const ListPtr list = entry.list;
  // The reserved host memory. The group becomes its owner; without a group, it is released here.
  std::shared_ptr<void> reserved(nullptr, [this, host = entry.host](void*) {
    const std::lock_guard lock(mutex_);
    admission_.release_host(host);
    changed_.notify_all();
  });
  const ScopeExit prepared([&] {
    const std::lock_guard lock(mutex_);
    --list->preparing;
    if (!entry.group || !entry.group->open()) return;
    ++list->ready;
    ready_.splice(ready_.end(), action.entry);
  });
  std::vector<char> found(action.tasks.size());
  host_.for_each(found.size(), [&](std::size_t k) {
    found[k] = look_for_result(*list, action.tasks[k]) ? 1 : 0;
  });
  std::vector<TaskJob> jobs;
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (found[k] == 0) jobs.push_back(job(list, action.tasks[k]));
  }
  if (jobs.empty()) return;
  TaskRunOptions run;
  run.engine.device = devices_.front();
  const int max_groups = static_cast<int>(list->plan.max_groups);
  const int most = on_cpu_ ? admission_.threads() : std::max(1, admission_.threads() / max_groups);
  run.engine.threads = useful_threads(jobs.front().spec, most);
  if (on_cpu_) run.engine.threads_now = &admission_.threads_each();
  run.stop = list->stop;
  run.checkpoint = folder_.config().checkpoint;
  // The group exists until its files are written, because jobs of host threads refer to it.
  entry.group = GroupPtr(new TaskGroup(std::move(jobs), run, host_, action.ahead),
                         [reserved](TaskGroup* group) mutable {
                           delete group;
                           reserved.reset();
                         });
  reserved.reset();
  if (!on_cpu_) entry.on_device = entry.group->device_bytes();
  if (action.ahead && list->stop.stop_requested()) {
    const std::lock_guard lock(mutex_);
    list->interrupted = true;
  }
  if (!entry.group->open()) {
    entry.group.reset();
    wait_for_holders(*list);
  }
}

void Executor::run_group(Action& action) {
  Entry& entry = action.entry.front();
  const ListPtr list = entry.list;
  const int device = entry.group->device();
  const ScopeExit ended([&] {
    const std::lock_guard lock(mutex_);
    admission_.end(device);
    --list->running[device];
    if (!on_cpu_) admission_.release_device(device, entry.on_device);
  });
  entry.group->run();
}

// Passes on the result of a finished file. Returns false if there is none.
bool Executor::look_for_result(List& list, std::size_t index) {
  const PlannedTask& task = list.tasks[index];
  const std::string& id = list.ids[index];
  const TaskPaths paths = task_paths(folder_.path(), id);
  {
    // The file that this process wrote has too few measurements, so it is not read. If another
    // process has added some since, the claim detects this.
    const std::lock_guard lock(mutex_);
    const auto known = measured_.find(id);
    if (known != measured_.end() && known->second < task.spec.measure) return false;
  }
  std::optional<TaskData> data;
  try {
    data = read_finished(task.spec, paths);
  } catch (const Error& error) {  // the lease's owner may have a good copy
    if (error.exit_code() != ExitCode::data) throw;
  }
  if (!data) return false;
  clear_leftovers(paths, *data);
  take_result(list, index, 0, std::move(*data));
  return true;
}

TaskJob Executor::job(const ListPtr& list, std::size_t index) {
  const PlannedTask& task = list->tasks[index];
  const StudyConfig& config = folder_.config();
  TaskJob job;
  job.spec = task.spec;
  job.paths = task_paths(folder_.path(), task.spec);
  const auto reported = std::make_shared<double>(0);
  job.progress = [list, &task, reported](std::uint64_t cycles) {
    const double part =
        task.seconds * static_cast<double>(cycles) / static_cast<double>(task.spec.cycles());
    *reported += part;
    list->progress.add(part);
  };
  job.note = [list, &task](const std::string& line) {
    list->progress.line(task.label + ": " + line);
  };
  job.recompute_damaged = config.recompute_damaged;
  if (!config.keep_states || !task.extends) job.final_state = FinalState::none;
  job.on_graph = task.on_graph;
  job.on_measured = [this, list, index, reported](TaskRecord&& record) {
    guarded([&] {
      list->progress.finished();
      {
        const std::lock_guard lock(mutex_);
        ++list->computed;
        if (list->written.erase(index) == 0) writing_.insert(list->ids[index]);
      }
      take_result(*list, index, *reported, {std::move(record), {}});
    });
  };
  job.on_closed = [this, list, index, reported](TaskResult&& result) {
    guarded([&] { close(*list, index, *reported, std::move(result)); });
  };
  return job;
}

// Handles the end of a task in its group.
void Executor::close(List& list, std::size_t index, double reported, TaskResult&& result) {
  const PlannedTask& task = list.tasks[index];
  if (result.error) {
    try {
      std::rethrow_exception(result.error);
    } catch (const Error& error) {
      // A damaged file affects one task only: the others continue, and run() lists all damaged
      // files.
      if (error.exit_code() != ExitCode::data) throw;
      const std::lock_guard lock(mutex_);
      list.damaged.emplace_back(error.what());
      changed_.notify_all();
      return;
    }
  }
  switch (result.outcome) {
    case TaskOutcome::held:
      return give_back(list, index, result.message);
    case TaskOutcome::lost:
      list.progress.line(task.label + ": " + result.message);
      return give_back(list, index, "its new owner");
    case TaskOutcome::interrupted: {
      const std::lock_guard lock(mutex_);
      list.interrupted = true;
      changed_.notify_all();
      return;
    }
    case TaskOutcome::finished:
    case TaskOutcome::unwritten: {
      const bool written = result.outcome == TaskOutcome::finished;
      {
        const std::lock_guard lock(mutex_);
        const std::string& id = list.ids[index];
        if (const auto one = writing_.find(id); one != writing_.end()) {
          writing_.erase(one);
        } else {
          list.written.insert(index);
        }
        if (written) {
          ++unpacked_;
          measured_[id] = task.spec.measure;
        }
        changed_.notify_all();
      }
      if (written && !list.stop.stop_requested()) start_packing();
      return;
    }
    case TaskOutcome::already_finished:
      result.data.state = {};
      return take_result(list, index, reported, std::move(result.data));
  }
}

void Executor::take_result(List& list, std::size_t index, double reported, TaskData&& data) {
  list.progress.skip(list.tasks[index].seconds - reported);  // work saved by a checkpoint
  {
    const std::lock_guard lock(mutex_);
    list.held_in_a_row = 0;
    list.waiting_since.reset();
  }
  if (const auto& on_result = list.tasks[index].on_result) on_result(data);
  list.handle(index, std::move(data));
  const std::lock_guard lock(mutex_);
  --list.missing;
  changed_.notify_all();
}

// Moves a task that another process holds to the end of the queue.
void Executor::give_back(List& list, std::size_t index, const std::string& holder) {
  const std::lock_guard lock(mutex_);
  list.pending.insert(list.pending.begin(), index);
  list.left += list.tasks[index].seconds;
  ++list.held_in_a_row;
  list.holder = holder;
  list.waits_for = list.tasks[index].label;
}

// Pauses if other processes hold all waiting tasks. A lease that is not renewed is taken over in
// the end (lease.hpp), so no wait lasts forever.
void Executor::wait_for_holders(List& list) {
  std::string word;
  {
    const std::lock_guard lock(mutex_);
    if (list.stop.stop_requested()) list.interrupted = true;
    if (list.held_in_a_row == 0 || list.held_in_a_row < list.pending.size()) return;
    const auto now = Clock::now();
    list.retry_at = now + kRetry;
    if (!list.waiting_since) list.last_message = *(list.waiting_since = now);
    if (now - list.last_message <
        (list.last_message == *list.waiting_since ? kFirstWord : kNextWords))
      return;
    list.last_message = now;
    const std::chrono::duration<double> waited = now - *list.waiting_since;
    word = fmt::format("waiting for {} ({} so far): other processes compute {}, such as {}",
                       list.holder, duration_text(waited.count()),
                       count_text(list.pending.size(), "task"), list.waits_for);
  }
  list.progress.line(word);
}

// Packs the task files (task_pack.hpp) when no file is being written. Among several processes, only
// the one that marks the study as finished does this, so that nothing changes afterwards.
void Executor::start_packing() {
  if (!folder_.leads()) return;
  {
    const std::lock_guard lock(mutex_);
    if (packing_ || failed_ || unpacked_ < kManyFiles || !writing_.empty()) return;
    packing_ = true;
  }
  try {
    host_.add(
        0, [this] { guarded([this] { archive_files(); }); }, Urgency::file);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    packing_ = false;
    throw;
  }
}

void Executor::archive_files() {
  std::string warning;
  const ScopeExit ended([this, &warning] {
    const std::lock_guard lock(mutex_);
    packing_ = false;
    pack_warning_ = std::move(warning);
    changed_.notify_all();
  });
  {
    const std::lock_guard lock(mutex_);
    unpacked_ = 0;
  }
  try {
    pack_tasks(folder_.path() / "tasks");
  } catch (const LeaseLost&) {
    // Another process is packing.
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::held) return;  // likewise
    if (error.exit_code() != ExitCode::io && error.exit_code() != ExitCode::data) throw;
    warning = fmt::format("warning: finished tasks remain in separate files: {}", error.what());
  }
}

void Executor::finish_files(Progress& progress) {
  std::unique_lock lock(mutex_);
  {
    const std::set<std::string> now(writing_.begin(), writing_.end());
    const auto written = [&] {
      return failed_ ||
             std::ranges::none_of(now, [&](const auto& id) { return writing_.contains(id); });
    };
    changed_.wait(lock, written);
  }
  rethrow();
  changed_.wait(lock, [this] { return !packing_; });
  if (folder_.leads()) {
    packing_ = true;
    lock.unlock();
    archive_files();
    lock.lock();
  }
  rethrow();
  if (!pack_warning_.empty()) progress.line(std::exchange(pack_warning_, ""));
}

}  // namespace rewise

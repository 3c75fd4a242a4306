#include "experiments/study/study.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "experiments/console/device.hpp"
#include "experiments/console/options.hpp"
#include "experiments/study/ranks.hpp"
#include "experiments/tasks/need.hpp"
#include "experiments/tasks/task_group.hpp"
#include "src/base/error.hpp"
#include "src/base/profile.hpp"
#include "src/base/temporary.hpp"
#include "src/store/lease.hpp"
#include "src/store/syscalls.hpp"
#include "src/store/task_pack.hpp"

namespace rewise {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstWord = 5s, kNextWords = 60s;  // of a wait for others

// None where memory is so short that what they hold, and their stacks, would be missed.
int host_threads(int threads) {
  constexpr double least = 1u << 30;
  return memory_room().bytes < least ? 0 : threads;
}

// On a CUDA device so many groups of the bundle engine run side by side, each by a worker of its
// own: where one waits for the host, or is too small, the device has another.
constexpr std::size_t kLanes = 3;

// The memory of a device that several workers use. Who asks for more than is left waits until the
// others are done; alone anybody may try.
class DeviceRoom {
 public:
  explicit DeviceRoom(double bytes) : bytes_(bytes) {}

  template <class F>
  void with(double bytes, const F& f) {
    {
      std::unique_lock lock(mutex_);
      const auto fits = [&] { return inside_ == 0 || used_ + bytes <= bytes_; };
      if (!fits()) {
        const profile::Span span(profile::Work::wait, "the device's memory");
        left_.wait(lock, fits);
      }
      ++inside_;
      used_ += bytes;
    }
    const auto leave = [&] {
      const std::lock_guard lock(mutex_);
      used_ = --inside_ == 0 ? 0 : used_ - bytes;
      left_.notify_all();
    };
    try {
      f();
    } catch (...) {
      leave();
      throw;
    }
    leave();
  }

 private:
  const double bytes_;
  std::mutex mutex_;
  std::condition_variable left_;
  std::size_t inside_ = 0;
  double used_ = 0;
};

// Engines side by side have this part of what is free: what they need is an estimate, and those of
// Wolff updates take more where there is more.
constexpr double kShareOfFree = 0.7;

std::map<int, DeviceRoom> device_rooms(const std::vector<int>& devices) {
  std::map<int, DeviceRoom> rooms;
  for (const int device : devices) {
    if (device < 0 || rooms.contains(device)) continue;
    rooms.try_emplace(device, kShareOfFree * free_memory(device));
  }
  return rooms;
}

// Tasks that were handed to Study::run. Some workers per device, or one per thread of the CPU, run
// groups of them one after another. Beside it host threads look for results, claim tasks and build
// the graphs of its next group, and write the files of the one before it and reduce what they hold:
// a worker whose files of the group before last are not written waits for them.
class Batch {
 public:
  Batch(const std::filesystem::path& folder, const std::vector<StudyTask>& tasks, TaskRun run,
        const StudyConfig& config, int threads, std::map<std::string, std::uint64_t>& measured,
        Progress& progress, const TaskHandler& handle)
      : folder_(folder),
        tasks_(tasks),
        run_(std::move(run)),
        config_(config),
        progress_(progress),
        handle_(handle),
        measured_(measured),
        host_(host_threads(threads)) {
    pending_.resize(tasks.size());
    std::iota(pending_.begin(), pending_.end(), std::size_t{0});
    // The longest first, so that no thread is left alone with a long one at the end.
    std::stable_sort(pending_.begin(), pending_.end(), [&](std::size_t a, std::size_t b) {
      return tasks[a].seconds < tasks[b].seconds;
    });
  }

  // One worker per entry: the device that its tasks run on.
  void work(const std::vector<int>& workers) {
    rooms_ = device_rooms(workers);
    take_finished();
    workers_ = workers.size();
    share_ = (pending_.size() + workers_ - 1) / workers_;
    {
      std::vector<std::jthread> threads;
      guarded([&] { start(threads, workers); });
      loop(workers.front());
    }
    if (failure_) std::rethrow_exception(failure_);
  }

  bool interrupted() const { return interrupted_; }
  std::size_t computed() const { return computed_; }
  // What files that are damaged or contradict themselves are like, one line each.
  const std::vector<std::string>& damaged() const { return damaged_; }

 private:
  using Group = std::unique_ptr<TaskGroup>;

  // Those that are finished, all host threads at once.
  void take_finished() {
    std::vector<char> found(tasks_.size());
    guarded([&] {
      host_.for_each(tasks_.size(), [&](std::size_t k) {
        if (!over_ && !run_.stop.stop_requested()) found[k] = look_for_result(k);
      });
    });
    std::erase_if(pending_, [&](std::size_t k) { return found[k] != 0; });
  }

  // The other workers. The numbers do not depend on how many there are.
  void start(std::vector<std::jthread>& threads, const std::vector<int>& workers) {
    for (std::size_t k = 1; k < workers.size(); ++k) {
      try {
        threads.emplace_back([this, device = workers[k]] { loop(device); });
      } catch (const std::system_error& error) {
        progress_.line(fmt::format("warning: {} workers instead of {}: {}", k, workers.size(),
                                   error.code().message()));
        return;
      }
    }
  }

  void loop(int device) {
    guarded([&] {
      // A CPU that has a task on each thread has nothing to gain.
      const bool looks_ahead = device >= 0 || run_.engine.threads > 1;
      std::future<Group> ahead;
      Group before;  // its files are being written
      while (!over_) {
        Group group = ahead.valid() ? prepared(ahead) : prepare(device, false);
        if (group == nullptr) {
          before.reset();  // a task of it may have to be done again
          group = prepare(device, false);
          if (group == nullptr) return;
        }
        if (looks_ahead) ahead = prepare_ahead(device);
        const auto room = rooms_.find(device);
        if (room == rooms_.end()) {
          group->run();
        } else {
          room->second.with(group->device_bytes(), [&] { group->run(); });
        }
        before = std::move(group);
      }
    });
  }

  // What is thrown ends the batch.
  template <class F>
  void guarded(const F& f) {
    try {
      f();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      over_ = true;
    }
  }

  Group prepared(std::future<Group>& ahead) {
    const profile::Span span(profile::Work::wait, "graphs");
    return ahead.get();
  }

  std::future<Group> prepare_ahead(int device) {
    const auto prepare_next = [this, device] { return prepare(device, true); };
    try {
      return std::async(std::launch::async, prepare_next);
    } catch (const std::system_error&) {  // no thread to be had: when it is asked for
      return std::async(std::launch::deferred, prepare_next);
    }
  }

  // The next tasks, on CUDA several alike (but none that another worker should have), ready to run;
  // nothing where none are left.
  Group prepare(int device, bool ahead) {
    while (!over_) {
      const std::vector<std::size_t> some = take(device);
      if (some.empty()) return nullptr;
      std::vector<char> found(some.size());
      host_.for_each(some.size(), [&](std::size_t k) { found[k] = look_for_result(some[k]); });
      std::vector<TaskJob> jobs;
      for (std::size_t k = 0; k < some.size(); ++k) {
        if (found[k] == 0) jobs.push_back(job(some[k]));
      }
      if (jobs.empty()) continue;
      TaskRun run = run_;
      run.engine.device = device;
      run.engine.threads = useful_threads(jobs.front().spec, run_.engine.threads);
      auto group = std::make_unique<TaskGroup>(std::move(jobs), run, host_, ahead);
      if (ahead && run_.stop.stop_requested()) over_ = interrupted_ = true;
      if (group->open()) return group;
      group.reset();
      wait_for_others();
    }
    return nullptr;
  }

  std::vector<std::size_t> take(int device) {
    const std::lock_guard lock(mutex_);
    std::vector<std::size_t> group;
    if (pending_.empty()) return group;
    const TaskSpec& first = tasks_[pending_.back()].spec;
    // No more than a worker's share; and where files take long half of what is left to each, so
    // that those of the first are written while the last are still being measured.
    const GroupSize size = group_size(first);
    const std::size_t most = std::min(size.most, share_), least = std::min(size.least, share_);
    const std::size_t half = (pending_.size() + 2 * workers_ - 1) / (2 * workers_);
    const std::size_t wanted = device < 0 ? 1 : std::clamp(half, least, most);
    for (std::size_t k = pending_.size(); k-- > 0 && group.size() < wanted;) {
      if (!group.empty() && !run_together(first, tasks_[pending_[k]].spec)) continue;
      group.push_back(pending_[k]);
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(k));
    }
    return group;
  }

  // A pause once nothing is left but tasks that others hold. Whose lease is not renewed loses it in
  // the end (lease.hpp): no wait is for ever.
  void wait_for_others() {
    using Clock = std::chrono::steady_clock;
    bool only_held = false;
    std::string word;
    {
      const std::lock_guard lock(mutex_);
      only_held = held_in_a_row_ > 0 && held_in_a_row_ >= pending_.size();
      if (only_held) {
        const auto now = Clock::now();
        if (!waiting_since_) told_ = *(waiting_since_ = now);
        if (now - told_ >= (told_ == *waiting_since_ ? kFirstWord : kNextWords)) {
          told_ = now;
          const std::chrono::duration<double> waited = now - *waiting_since_;
          word = fmt::format("waiting for {} for {}: {} task(s) held by others, such as {}",
                             holder_, duration_text(waited.count()), pending_.size(), waits_for_);
        }
      }
    }
    if (!word.empty()) progress_.line(word);
    if (only_held) {
      const profile::Span span(profile::Work::wait, "tasks that others hold");
      std::this_thread::sleep_for(200ms);
    }
    if (run_.stop.stop_requested()) over_ = interrupted_ = true;
  }

  // Whether it is there; it is reduced then.
  bool look_for_result(std::size_t index) {
    const StudyTask& task = tasks_[index];
    const std::string id = task_id(task.spec);
    const TaskPaths paths = task_paths(folder_, id, task_group(task.spec));
    {
      // Whether another process has measured more since, its owner-to-be will see.
      const std::lock_guard lock(mutex_);
      const auto known = measured_.find(id);
      if (known != measured_.end() && known->second < task.spec.measure) return false;
    }
    std::optional<TaskData> data;
    try {
      const profile::Span span(profile::Work::look, "result");
      data = read_finished(task.spec, paths);
    } catch (const Error& error) {  // whoever holds its lease may know of a good copy
      if (error.exit_code() != ExitCode::data) throw;
    }
    if (!data) return false;
    clear_leftovers(paths, *data);
    progress_.skip(task.seconds);
    done();
    reduce(index, std::move(*data));
    return true;
  }

  TaskJob job(std::size_t index) {
    const StudyTask& task = tasks_[index];
    TaskJob job;
    job.spec = task.spec;
    job.paths = task_paths(folder_, task.spec);
    const auto reported = std::make_shared<double>(0);
    job.progress = [this, &task, reported](std::uint64_t cycles) {
      const double part =
          task.seconds * static_cast<double>(cycles) / static_cast<double>(task.spec.cycles());
      *reported += part;
      progress_.add(part);
    };
    job.note = [this, &task](const std::string& line) { progress_.line(task.label + ": " + line); };
    job.recompute_damaged = config_.recompute_damaged;
    job.keep_state = config_.keep_states && task.extends;
    job.on_graph = task.on_graph;
    job.done = [this, index, reported](TaskResult&& result) {
      guarded([&] { book(index, *reported, std::move(result)); });
    };
    return job;
  }

  void book(std::size_t index, double reported, TaskResult&& result) {
    const StudyTask& task = tasks_[index];
    if (result.error) return note_failure(result.error);
    switch (result.outcome) {
      case TaskOutcome::held:
        return give_back(index, result.message);
      case TaskOutcome::lost:
        progress_.line(task.label + ": " + result.message);
        return give_back(index, "its new owner");
      case TaskOutcome::interrupted:
        over_ = interrupted_ = true;
        return;
      case TaskOutcome::finished:
        ++computed_;
        progress_.finished();
        note_measured(task.spec);
        break;
      case TaskOutcome::already:
        break;
    }
    progress_.skip(task.seconds - reported);  // what a checkpoint had spared
    done();
    result.data.state = {};
    reduce(index, std::move(result.data));
  }

  // A damaged file is one task's matter: the others go on, and all of them are named in the end.
  void note_failure(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::data) throw;
      const std::lock_guard lock(mutex_);
      damaged_.emplace_back(error.what());
    }
  }

  // What somebody else is at: to the end of the line.
  void give_back(std::size_t index, const std::string& holder) {
    const std::lock_guard lock(mutex_);
    pending_.insert(pending_.begin(), index);
    ++held_in_a_row_;
    holder_ = holder;
    waits_for_ = tasks_[index].label;
  }

  void reduce(std::size_t index, TaskData&& data) {
    const profile::Span span(profile::Work::reduce, tasks_[index].label);
    handle_(index, std::move(data));
  }

  void note_measured(const TaskSpec& spec) {
    const std::string id = task_id(spec);
    const std::lock_guard lock(mutex_);
    measured_[id] = spec.measure;
  }

  void done() {
    const std::lock_guard lock(mutex_);
    held_in_a_row_ = 0;
    waiting_since_.reset();
  }

  const std::filesystem::path& folder_;
  const std::vector<StudyTask>& tasks_;
  const TaskRun run_;
  const StudyConfig& config_;
  Progress& progress_;
  const TaskHandler& handle_;
  std::map<std::string, std::uint64_t>& measured_;
  std::mutex mutex_;
  std::vector<std::size_t> pending_;     // taken from the back
  std::size_t workers_ = 1, share_ = 1;  // of a worker
  std::map<int, DeviceRoom> rooms_;
  std::size_t held_in_a_row_ = 0;
  std::string holder_, waits_for_;  // who holds a task, and which
  std::optional<std::chrono::steady_clock::time_point> waiting_since_;  // for nothing but others
  std::chrono::steady_clock::time_point told_;
  std::exception_ptr failure_;
  std::vector<std::string> damaged_;
  std::atomic<bool> over_ = false, interrupted_ = false;
  std::atomic<std::size_t> computed_ = 0;
  HostThreads host_;  // its jobs use all of the above
};

// Of what is no good and has no good copy: what its task said, and every other file of the folder
// whose digest does not fit, so that one look is enough.
std::string damaged_text(const std::filesystem::path& folder, std::vector<std::string> said) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder / "tasks", error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::filesystem::path& file = entry->path();
    const std::string name = file.string();
    if (file.extension() != ".h5" || std::any_of(said.begin(), said.end(), [&](const auto& line) {
          return line.find(name) != std::string::npos;
        })) {
      continue;
    }
    const SealedRead read = read_sealed(file);
    if (read.state != SealState::damaged ||
        read_sealed(previous_path(file)).state == SealState::good) {
      continue;
    }
    said.push_back(fmt::format("{} ({})", name, read.problem));
  }
  return fmt::format(
      "{} damaged: {}; all other tasks that could be done now are done; "
      "--recompute-damaged sets the damaged ones aside and computes them again",
      said.size() == 1 ? "a result is" : fmt::format("{} results are", said.size()),
      fmt::join(said, "; "));
}

}  // namespace

namespace {

// Fewer tasks at a time, each with more threads, where all of them would not fit; at least one
// worker for each of `devices`. Error(device) where that does not fit.
std::string fit_memory(const std::vector<StudyTask>& tasks, int threads, bool on_cpu,
                       std::size_t devices, std::vector<int>& workers) {
  const auto need_of = [&](const StudyTask& task, std::size_t at_a_time) {
    const int each = std::max(1, threads / static_cast<int>(at_a_time));
    return memory_need(task.spec, useful_threads(task.spec, each), !on_cpu, true);
  };
  const auto largest =
      std::max_element(tasks.begin(), tasks.end(), [&](const StudyTask& a, const StudyTask& b) {
        return need_of(a, 1).most() < need_of(b, 1).most();
      });
  const std::size_t least = on_cpu ? 1 : devices;
  if (!on_cpu) {  // groups that run, are prepared and are written; a quarter of what is left
    const double each = need_of(*largest, 1).of_task();
    const auto group = [&] {  // no more than a worker's share
      const std::size_t share = (tasks.size() + workers.size() - 1) / workers.size();
      return each * static_cast<double>(std::min(group_size(largest->spec).most, share));
    };
    while (workers.size() > least &&
           3 * static_cast<double>(workers.size()) * group() > 0.25 * memory_room().bytes) {
      workers.pop_back();
    }
  }
  for (; workers.size() > least; workers.pop_back()) {
    try {
      return check_memory(need_of(*largest, workers.size()), workers.size());
    } catch (const Error&) {
      continue;  // one less
    }
  }
  return check_memory(need_of(*largest, workers.size()), workers.size());
}

}  // namespace

Study::Study(StudyFolder place, std::vector<int> devices)
    : place_(std::move(place)), devices_(std::move(devices)) {
  const int all = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  threads_ =
      config().threads > 0 ? config().threads : threads_of(this_rank(), thread_count(0), all);
  place_.claim();
  // What killed processes left.
  for (const auto& where : {folder(), folder() / "tasks", folder() / "schedules"}) {
    if (this_rank().first()) clear_temporaries(where);
  }
  if (config().recompute_damaged && this_rank().first()) {
    for (const std::string& line : repair_packs(folder() / "tasks")) {
      fmt::print(stderr, "warning: {}\n", line);
    }
  }
}

Study::~Study() {
  if (packing_.valid()) packing_.wait();
}

// Small files of many are a burden to every file system. Nothing is lost where it fails.
void Study::pack(const std::vector<StudyTask>& tasks, Progress& progress) {
  finish_packs(progress);
  std::set<std::string> names;
  for (const StudyTask& task : tasks) {
    names.insert(task_group(task.spec));
    groups_[task_group(task.spec)].insert(task_id(task.spec));
  }
  const auto policy = host_threads(1) > 0 ? std::launch::async : std::launch::deferred;
  try {
    packing_ = std::async(policy, [this, names] { return pack_groups(names); });
  } catch (const std::system_error&) {  // no thread to be had
    packing_ = std::async(std::launch::deferred, [this, names] { return pack_groups(names); });
  }
  if (policy == std::launch::deferred) finish_packs(progress);
}

void Study::finish_packs(Progress& progress) {
  if (!packing_.valid()) return;
  const profile::Span span(profile::Work::wait, "packs");
  const std::string failed = packing_.get();
  if (!failed.empty()) progress.line(failed);
}

std::string Study::pack_groups(const std::set<std::string>& names) const {
  const profile::Span span(profile::Work::files, "pack tasks");
  for (const std::string& group : names) {
    try {
      // With those that were too few for a pack before.
      const auto& all = groups_.at(group);
      pack_tasks(folder() / "tasks", group, std::vector<std::string>(all.begin(), all.end()));
    } catch (const LeaseLost&) {
      // Whoever has it packs them.
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::io && error.exit_code() != ExitCode::data) throw;
      return fmt::format("warning: finished tasks stay in files of their own: {}", error.what());
    }
  }
  return "";
}

void Study::run(std::vector<StudyTask> tasks, const StopToken& stop, Progress& progress,
                const TaskHandler& handle) {
  if (tasks.empty()) return;
  for (const StudyTask& task : tasks) asked_[task_id(task.spec)] = task.purpose;
  const bool on_cpu = devices_.front() < 0;
  std::vector<int> workers;
  if (on_cpu) workers.assign(static_cast<std::size_t>(threads_), -1);
  const bool lanes = std::all_of(tasks.begin(), tasks.end(), [](const StudyTask& task) {
    return task.spec.engine == EngineKind::bundle;
  });
  for (std::size_t lane = 0; !on_cpu && lane < (lanes ? kLanes : 1); ++lane) {
    workers.insert(workers.end(), devices_.begin(), devices_.end());
  }
  workers.resize(std::min(workers.size(), tasks.size()));
  const std::size_t devices = std::min(devices_.size(), workers.size());
  const std::string memory = fit_memory(tasks, threads_, on_cpu, devices, workers);
  if (!memory.empty() && !std::exchange(told_memory_, true) && this_rank().first()) {
    progress.line(memory);
  }
  TaskRun run;
  run.engine.threads = std::max(1, threads_ / static_cast<int>(workers.size()));
  run.stop = stop;
  run.checkpoint = config().checkpoint;
  Batch batch(folder(), tasks, run, config(), threads_, measured_, progress, handle);
  batch.work(workers);
  computed_ += batch.computed();
  // Of a job's ranks the one that marks the study finished, so that nothing changes after that.
  if (!batch.interrupted() && this_rank().first()) pack(tasks, progress);
  if (batch.interrupted()) {
    wait_for_other_ranks(this_rank(), folder());
    throw Error(
        ExitCode::interrupted,
        fmt::format("stopped by {}; checkpoints written, the same command goes on from them",
                    stop.reason()));
  }
  if (!batch.damaged().empty()) {
    throw Error(ExitCode::data, damaged_text(folder(), batch.damaged()));
  }
}

std::uint64_t derived_seed(std::uint64_t study_seed, const std::string& purpose) {
  const std::string text = fmt::format("{}|{}", study_seed, purpose);
  return XXH3_64bits(text.data(), text.size()) >> 1;
}

}  // namespace rewise

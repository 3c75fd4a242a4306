#include "experiments/study.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "experiments/device.hpp"
#include "experiments/options.hpp"
#include "experiments/ranks.hpp"
#include "experiments/task_group.hpp"
#include "experiments/toml_reader.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

using namespace std::chrono_literals;

// One batch of tasks, worked on by several threads.
class Batch {
 public:
  Batch(const std::filesystem::path& folder, const std::vector<StudyTask>& tasks, TaskRun run,
        Progress& progress, const TaskHandler& handle)
      : folder_(folder), tasks_(tasks), run_(std::move(run)), progress_(progress), handle_(handle) {
    pending_.resize(tasks.size());
    std::iota(pending_.begin(), pending_.end(), std::size_t{0});
    // The longest first, so that no thread is left alone with a long one at the end.
    std::stable_sort(pending_.begin(), pending_.end(), [&](std::size_t a, std::size_t b) {
      return tasks[a].seconds < tasks[b].seconds;
    });
  }

  // One worker per entry: the device that its tasks run on.
  void work(const std::vector<int>& workers) {
    workers_ = workers.size();
    std::vector<std::thread> threads;
    for (std::size_t k = 1; k < workers.size(); ++k) {
      threads.emplace_back([this, device = workers[k]] { loop(device); });
    }
    loop(workers.front());
    for (auto& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
  }

  bool interrupted() const { return interrupted_; }
  std::size_t computed() const { return computed_; }

 private:
  void loop(int device) {
    try {
      while (!over_) {
        const auto group = take(device);
        if (group.empty()) return;
        attempt(group, device);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      over_ = true;
    }
  }

  // The next task, on CUDA with as many like it as fill the device (but none that another worker
  // should have).
  std::vector<std::size_t> take(int device) {
    const std::lock_guard lock(mutex_);
    std::vector<std::size_t> group;
    if (pending_.empty()) return group;
    const TaskSpec& first = tasks_[pending_.back()].spec;
    const std::size_t share = (pending_.size() + workers_ - 1) / workers_;
    const std::size_t wanted = device < 0 ? 1 : std::min(filling_group(first), share);
    for (std::size_t k = pending_.size(); k-- > 0 && group.size() < wanted;) {
      if (!group.empty() && !run_together(first, tasks_[pending_[k]].spec)) continue;
      group.push_back(pending_[k]);
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(k));
    }
    return group;
  }

  // Tasks that another process holds: to the end of the line, and a pause once nothing else is
  // left to do.
  void give_back(const std::vector<std::size_t>& held) {
    bool only_held = false;
    {
      const std::lock_guard lock(mutex_);
      pending_.insert(pending_.begin(), held.begin(), held.end());
      held_in_a_row_ += held.size();
      only_held = held_in_a_row_ >= pending_.size();
    }
    if (only_held) std::this_thread::sleep_for(200ms);
    if (run_.stop.stop_requested()) over_ = interrupted_ = true;
  }

  void attempt(const std::vector<std::size_t>& group, int device) {
    std::vector<std::size_t> left;  // of the group
    for (const std::size_t index : group) {
      const StudyTask& task = tasks_[index];
      const TaskPaths paths = task_paths(folder_, task_id(task.spec));
      auto data = read_finished(task.spec, paths.finished);
      if (!data) {
        left.push_back(index);
        continue;
      }
      clear_leftovers(paths, *data);
      progress_.skip(task.seconds);
      done();
      handle_(index, std::move(*data));
    }
    if (left.empty()) return;
    TaskRun run = run_;
    run.engine.device = device;
    run.engine.threads = useful_threads(tasks_[left.front()].spec, run_.engine.threads);
    std::vector<double> reported(left.size(), 0.0);
    std::vector<TaskJob> jobs;
    for (std::size_t k = 0; k < left.size(); ++k) jobs.push_back(job(left[k], reported[k]));
    std::vector<TaskResult> results = run_tasks(std::move(jobs), run);
    std::vector<std::size_t> held;
    for (std::size_t k = 0; k < left.size(); ++k) {
      if (!book(left[k], reported[k], results[k])) held.push_back(left[k]);
    }
    for (const TaskResult& result : results) {
      if (result.error) std::rethrow_exception(result.error);
    }
    if (!held.empty()) give_back(held);
  }

  TaskJob job(std::size_t index, double& reported) {
    const StudyTask& task = tasks_[index];
    const auto progress = [this, &task, &reported](std::uint64_t cycles) {
      const double part =
          task.seconds * static_cast<double>(cycles) / static_cast<double>(task.spec.cycles());
      reported += part;
      progress_.add(part);
    };
    const auto note = [this, &task](const std::string& line) {
      progress_.line(task.label + ": " + line);
    };
    return {task.spec, task_paths(folder_, task_id(task.spec)), progress, note};
  }

  // False when somebody else is at it.
  bool book(std::size_t index, double reported, TaskResult& result) {
    const StudyTask& task = tasks_[index];
    if (result.error) return true;
    if (result.outcome == TaskOutcome::held) return false;
    if (result.outcome == TaskOutcome::interrupted) {
      over_ = interrupted_ = true;
      return true;
    }
    progress_.skip(task.seconds - reported);  // what a checkpoint had spared
    if (result.outcome == TaskOutcome::finished) {
      ++computed_;
      progress_.finished(task.label);
    }
    done();
    handle_(index, std::move(result.data));
    return true;
  }

  void done() {
    const std::lock_guard lock(mutex_);
    held_in_a_row_ = 0;
  }

  const std::filesystem::path& folder_;
  const std::vector<StudyTask>& tasks_;
  const TaskRun run_;
  Progress& progress_;
  const TaskHandler& handle_;
  std::mutex mutex_;
  std::vector<std::size_t> pending_;  // taken from the back
  std::size_t workers_ = 1;
  std::size_t held_in_a_row_ = 0;
  std::exception_ptr failure_;
  std::atomic<bool> over_ = false, interrupted_ = false;
  std::atomic<std::size_t> computed_ = 0;
};

// Another process may be about to write study.toml: tasks/ and hidden files are ours.
bool holds_other_things(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name != "tasks" && name != "study.toml" && !name.starts_with(".")) return true;
  }
  return false;
}

// The name that a study.toml gives. Error(usage) saying where it is no TOML (any more).
std::string name_in(const std::string& text, const std::string& file) {
  const toml::table root = parse_toml(text, file);
  const auto name = root["study"]["name"];
  if (!name) return StudyConfig{}.name;
  if (!name.is_string()) throw Error(ExitCode::usage, file + ": study.name is no text");
  return *name.value<std::string>();
}

// Another study's configuration and summary would be lost. A file that cannot be read any more
// holds up no study (the tasks have their configuration with them): it is kept beside the new one.
void check_held(const std::filesystem::path& file, const std::string& held,
                const std::string& wanted) {
  if (held.empty()) return;
  std::string theirs;
  try {
    theirs = name_in(held, file.string());
  } catch (const Error& error) {
    std::filesystem::path aside;
    for (int n = 1; aside.empty() || std::filesystem::exists(aside); ++n) {
      aside = fmt::format("{}.damaged-{}", file.string(), n);
    }
    write_text_file(aside, held);
    if (this_rank().first()) {
      fmt::print(stderr, "warning: {}; it is written anew (the old one is kept as {})\n",
                 error.what(), aside.string());
    }
    return;
  }
  if (theirs == wanted) return;
  throw Error(ExitCode::held,
              fmt::format("folder '{}' holds the study \"{}\", not \"{}\": choose another one with "
                          "--out",
                          file.parent_path().string(), theirs, wanted));
}

}  // namespace

Study::Study(const StudyConfig& config, std::filesystem::path folder, std::vector<int> devices)
    : config_(config),
      folder_(std::move(folder)),
      devices_(std::move(devices)),
      threads_(config.threads > 0 ? config.threads
                                  : threads_of(this_rank(), thread_count(0),
                                               static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)))) {
  const auto file = folder_ / "study.toml";
  std::error_code ignored;
  if (std::filesystem::exists(folder_, ignored) && !std::filesystem::is_directory(folder_)) {
    throw Error(ExitCode::held, fmt::format("'{}' exists and is not a folder", folder_.string()));
  }
  if (!std::filesystem::exists(file) && holds_other_things(folder_)) {
    throw Error(ExitCode::held,
                fmt::format("folder '{}' holds something else than a study (it has no study.toml): "
                            "choose another one with --out",
                            folder_.string()));
  }
  const std::string text = to_toml(config_);
  const std::string held = std::filesystem::exists(file) ? read_text_file(file) : "";
  check_held(file, held, config_.name);
  make_folder(folder_ / "tasks");
  if (held != text) write_text_file(file, text);
}

std::filesystem::path Study::finished_file(const TaskSpec& spec) const {
  return task_paths(folder_, task_id(spec)).finished;
}

void Study::run(std::vector<StudyTask> tasks, const StopToken& stop, Progress& progress,
                const TaskHandler& handle) {
  if (tasks.empty()) return;
  const bool on_cpu = devices_.front() < 0;
  std::vector<int> workers =
      on_cpu ? std::vector<int>(static_cast<std::size_t>(threads_), -1) : devices_;
  workers.resize(std::min(workers.size(), tasks.size()));
  TaskRun run;
  run.engine.threads = std::max(1, threads_ / static_cast<int>(workers.size()));
  run.stop = stop;
  run.checkpoint = config_.checkpoint;
  Batch batch(folder_, tasks, run, progress, handle);
  batch.work(workers);
  computed_ += batch.computed();
  if (batch.interrupted()) {
    wait_for_other_ranks(this_rank(), folder_);
    throw Error(
        ExitCode::interrupted,
        fmt::format("stopped by {}; checkpoints written, the same command goes on from them",
                    stop.reason()));
  }
}

std::uint64_t derived_seed(std::uint64_t study_seed, const std::string& purpose) {
  const std::string text = fmt::format("{}|{}", study_seed, purpose);
  return XXH3_64bits(text.data(), text.size()) >> 1;
}

}  // namespace rewise

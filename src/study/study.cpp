#include "src/study/study.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <set>
#include <utility>

#include "src/settings/device_choice.hpp"
#include "src/store/task_pack.hpp"
#include "src/study/ranks.hpp"

namespace rewise {
namespace {

int threads_for(const StudyConfig& config) {
  const int all = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return config.threads > 0 ? config.threads : threads_of(this_rank(), thread_count(0), all);
}

}  // namespace

Study::Study(StudyFolder study_folder, std::vector<int> devices)
    : study_folder_(std::move(study_folder)),
      devices_(std::move(devices)),
      threads_(threads_for(config())),
      executor_(study_folder_, devices_, threads_) {
  study_folder_.claim();
  if (study_folder_.leads()) study_folder_.clear_temporaries();
  if (config().recompute_damaged && study_folder_.leads()) {
    for (const std::string& line : repair_packs(folder() / "tasks")) {
      fmt::print(stderr, "warning: {}\n", line);
    }
  }
}

std::size_t Study::run(std::vector<PlannedTask> tasks, const StopToken& stop, Progress& progress,
                       const TaskHandler& handle) {
  {
    const std::lock_guard lock(mutex_);
    for (const PlannedTask& task : tasks) {
      const auto [known, is_new] = requested_.try_emplace(task_id(task.spec), task);
      PlannedTask& requested = known->second;
      if (!is_new) {
        const std::uint64_t measure = std::max(requested.spec.measure, task.spec.measure);
        requested = task;
        requested.spec.measure = measure;
      }
      requested.on_graph = {};  // these may refer to objects that are destroyed before the study
      requested.on_result = {};
    }
  }
  const std::size_t computed = executor_.run(std::move(tasks), stop, progress, handle);
  computed_ += computed;
  return computed;
}

void Study::complete_files(const StopToken& stop, Progress& progress) {
  finish_files(progress);
  if (!study_folder_.leads()) return;
  std::vector<std::string> problems;  // damaged archives; their content counts as missing
  while (true) {
    std::set<std::string> stored;
    for (const StoredTask& task : stored_tasks(folder() / "tasks", problems))
      stored.insert(task.id);
    std::vector<PlannedTask> missing;
    for (const auto& [id, task] : requested_) {
      if (!stored.contains(id)) missing.push_back(task);
    }
    if (missing.empty()) return;
    progress.line(
        fmt::format("results without a file: {}, such as {}; waiting for other processes, or "
                    "computing them again",
                    missing.size(), missing.front().label));
    run(std::move(missing), stop, progress, [](std::size_t, TaskData&&) {});
    finish_files(progress);
  }
}

void Study::abandon(const TaskSpec& spec) {
  const std::lock_guard lock(mutex_);
  const auto found = requested_.find(task_id(spec));
  if (found != requested_.end()) found->second.purpose = "abandoned";
}

std::map<std::string, std::string> Study::requested() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::string> purposes;
  for (const auto& [id, task] : requested_) purposes[id] = task.purpose;
  return purposes;
}

std::uint64_t derived_seed(std::uint64_t study_seed, const std::string& purpose) {
  const std::string text = fmt::format("{}|{}", study_seed, purpose);
  return XXH3_64bits(text.data(), text.size()) >> 1;
}

}  // namespace rewise

#include "src/search/added_temperatures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "src/base/error.hpp"
#include "src/settings/parse.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace {

namespace fs = std::filesystem;
using List = std::vector<double>;

bool holds(const List& list, double t) {
  return std::find(list.begin(), list.end(), t) != list.end();
}

bool holds_any(const List& list, const List& wanted) {
  return std::any_of(wanted.begin(), wanted.end(), [&](double t) { return holds(list, t); });
}

// File names of finished tasks are sufficient; their contents are not needed.
bool has_tasks(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder / "tasks", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(".") && name.ends_with(".h5") && !name.ends_with(".part.h5")) return true;
  }
  return false;
}

// The folder's configuration if it belongs to this study.
std::optional<StudyConfig> held_configuration(const StudyConfig& config, const fs::path& folder) {
  const fs::path file = folder / "study.toml";
  if (!file_exists(file)) return std::nullopt;
  try {
    StudyConfig held = read_study_config(file);
    if (held.name != config.name || held.seed != config.seed) return std::nullopt;
    return held;
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::usage) throw;
    return std::nullopt;  // claiming the folder reports the problem
  }
}

std::string list_text(const List& temperatures) {
  std::vector<std::string> words;
  for (const double t : temperatures) words.push_back(number_text(t));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

StudyConfig keep_temperature_tasks(StudyConfig config, const fs::path& folder,
                                   std::vector<std::string>& messages) {
  if (config.temperatures.empty() || !config.temperature_tasks.empty()) return config;
  const auto held = held_configuration(config, folder);
  if (!held || held->temperatures.empty() || !has_tasks(folder)) return config;
  std::vector<List> tasks = held->temperature_tasks;
  if (tasks.empty()) tasks.push_back(held->temperatures);
  List kept, added, dropped;
  for (const List& task : tasks) {
    if (!holds_any(task, config.temperatures)) continue;
    kept.insert(kept.end(), task.begin(), task.end());
  }
  if (kept.empty()) return config;  // no task to keep
  // The first list stays, because it determined "auto" settings.
  const List first = tasks.front();
  std::erase_if(tasks, [&](const List& task) {
    return task != first && !holds_any(task, config.temperatures);
  });
  for (const double t : config.temperatures) {
    if (!holds(kept, t)) added.push_back(t);
  }
  for (const double t : kept) {
    if (!holds(config.temperatures, t)) dropped.push_back(t);
  }
  List rest = added;  // the first list may contain some of them
  std::erase_if(rest, [&](double t) { return holds(first, t); });
  if (!rest.empty()) tasks.push_back(rest);
  if (tasks.size() == 1 && tasks.front() == config.temperatures) return config;
  if (!added.empty()) {
    messages.push_back(
        fmt::format("T = {}: simulated in addition; existing results are kept", list_text(added)));
  }
  if (!dropped.empty()) {
    messages.push_back(
        fmt::format("T = {}: no longer requested, but kept, because it was simulated together "
                    "with requested temperatures",
                    list_text(dropped)));
  }
  config.temperature_tasks = std::move(tasks);
  return config;
}

}  // namespace rewise

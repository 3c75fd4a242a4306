#include "experiments/commands/study_contents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "src/base/count_text.hpp"
#include "src/base/error.hpp"
#include "src/results/json_output.hpp"
#include "src/settings/memory_need.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace {

namespace fs = std::filesystem;

// "2.1,2.4", or "2.1..2.9 (6)" for more than three.
std::string temperatures_text(const std::vector<double>& t) {
  if (t.size() <= 3) return fmt::format("{}", fmt::join(t, ","));
  return fmt::format("{}..{} ({})", t.front(), t.back(), t.size());
}

}  // namespace

std::string TaskDescription::lattice_text() const {
  switch (condition) {
    case TaskCondition::readable:
      break;
    case TaskCondition::misplaced:
      return "misplaced";
    case TaskCondition::moved:
      return "moved";
    case TaskCondition::damaged:
      return "damaged";
  }
  return lattice;
}

TaskDescription describe_task(const StoredTask& stored) {
  try {
    const auto loaded = load_stored(stored);
    if (!loaded) return {.condition = TaskCondition::moved};
    const TextMap& map = loaded->task.configuration;
    const auto value = [&map](const char* key) { return text_at(map, key); };
    if (const std::string id = task_id(map, kExtendableKeys); id != stored.id) {
      return {.condition = TaskCondition::misplaced,
              .rest = fmt::format("{} contains task {}, but has the name of another task",
                                  loaded->source.string(), id)};
    }
    TaskDescription words;
    words.warnings = loaded->warnings;
    words.measurements = loaded->task.bond_sum.time();
    words.seed = value("sampling.seed");
    words.temperatures = loaded->task.temperature;
    const std::string& source = loaded->task.graph.source;
    words.lattice = map.contains("lattice.size")
                        ? fmt::format("{}, p = {}, {}", value("lattice.size"), value("lattice.p"),
                                      rule_text(value("lattice.rule")))
                        : fmt::format("graph {}", source.empty() ? value("graph.hash") : source);
    words.rest = fmt::format("T = {}; {} {}, {} replicas, {} cycles discarded, every {}",
                             temperatures_text(words.temperatures), value("sampling.schedule"),
                             value("sampling.cluster"), value("sampling.replicas"),
                             value("sampling.equilibrate"), value("sampling.every"));
    return words;
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::data) throw;
    return {.condition = TaskCondition::damaged, .rest = error.what()};
  }
}

StudyContents read_contents(const fs::path& tasks) {
  StudyContents contents;
  // A running study may move task files into a results archive meanwhile; the folder is then listed
  // again.
  for (int attempt = 0; attempt < 5; ++attempt) {
    contents = {};
    if (folder_exists(tasks)) contents.stored = stored_tasks(tasks, contents.problems);
    bool moved = false;
    for (const StoredTask& task : contents.stored) {
      const TaskDescription& words = contents.described.emplace_back(describe_task(task));
      if (words.condition == TaskCondition::misplaced) contents.problems.push_back(words.rest);
      moved = moved || words.condition == TaskCondition::moved;
    }
    if (!moved) break;
  }
  return contents;
}

std::vector<StoredTask> unrequested(const std::vector<StoredTask>& stored,
                                    const RequestedTasks& requested) {
  std::vector<StoredTask> left;
  for (const StoredTask& task : stored) {
    if (!requested.contains(task.id)) left.push_back(task);
  }
  return left;
}

std::uint64_t bytes_of(const std::vector<StoredTask>& tasks) {
  std::uint64_t bytes = 0;
  for (const StoredTask& task : tasks) bytes += task.bytes;
  return bytes;
}

std::string unrequested_text(const fs::path& folder, const RequestedTasks& requested) {
  constexpr std::size_t kLooked = 200, kNamed = 3;
  std::vector<std::string> problems;
  const auto left = unrequested(stored_tasks(folder / "tasks", problems), requested);
  if (left.empty()) return "";
  std::map<std::string, std::size_t> kinds;
  for (std::size_t k = 0; k < std::min(left.size(), kLooked); ++k) {
    const TaskDescription words = describe_task(left[k]);
    ++kinds[words.lattice_text() + (words.rest.empty() ? "" : ", ") + words.rest];
  }
  const bool one = left.size() == 1;
  std::string text = fmt::format(
      "{} of this folder ({}) {} no longer requested:\n", count_text(left.size(), "task"),
      bytes_text(static_cast<double>(bytes_of(left))), one ? "is" : "are");
  std::size_t named = 0;
  for (const auto& [kind, count] : kinds) {
    if (named++ == kNamed) break;
    text += fmt::format("  {} of {}\n", count, kind);
  }
  if (kinds.size() > kNamed || left.size() > kLooked) text += "  .. and other tasks\n";
  return text + fmt::format("'rewise study {} --prune' removes {}\n", folder.string(),
                            one ? "it" : "them");
}

}  // namespace rewise

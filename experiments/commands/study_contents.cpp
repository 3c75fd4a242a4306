// tasks.json, and `rewise study`: lists the contents of a study's folder and removes unused tasks.
#include "experiments/commands/study_contents.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <vector>

#include "experiments/console/commands.hpp"
#include "src/base/error.hpp"
#include "src/base/table.hpp"
#include "src/store/sealed_file.hpp"
#include "src/store/syscalls.hpp"
#include "src/store/task_pack.hpp"
#include "src/study/json_output.hpp"
#include "src/study/need.hpp"
#include "src/study/parse.hpp"

namespace rewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "tasks.json";

struct LastRun {
  std::string command, configuration;  // of the last complete run
  AskedTasks tasks;
};

// Nothing if there is no such file or its content is invalid.
std::optional<LastRun> read_asked(const fs::path& folder) {
  const fs::path file = folder / kFile;
  if (!file_exists(file)) return std::nullopt;
  const Json json = Json::parse(read_text_file(file), nullptr, false);
  if (!json.is_object() || !json.contains("tasks") || !json["tasks"].is_object()) {
    return std::nullopt;
  }
  LastRun asked;
  asked.command = json.value("command", "");
  asked.configuration = json.value("configuration", "");
  for (const auto& [id, purpose] : json["tasks"].items()) {
    if (!purpose.is_string()) return std::nullopt;
    asked.tasks[id] = purpose.get<std::string>();
  }
  return asked;
}

// A description of a task: "8x8, p = 0.1, T = 2.5,3, 1:1".
struct TaskDescription {
  std::string lattice, rest;
  std::uint64_t measurements = 0;
};
const std::vector<std::string> kMayGrow{"sampling.measure"};  // not part of the id (task.hpp)
constexpr const char* kMisplaced = "misplaced";

TaskDescription describe(const StoredTask& stored) {
  try {
    const auto loaded = load_stored(stored);
    if (!loaded) return {"gone", "", 0};
    const TextMap& map = loaded->task.configuration;
    const auto value = [&map](const char* key) {
      const auto found = map.find(key);
      return found == map.end() ? std::string() : found->second;
    };
    if (const std::string id = task_id(map, kMayGrow); id != stored.id) {
      return {kMisplaced,
              fmt::format("{} contains task {}, but has the name of another task",
                          loaded->source.string(), id),
              0};
    }
    TaskDescription words;
    words.measurements = loaded->task.bond_sum.time();
    const std::string& source = loaded->task.graph.source;
    words.lattice = map.contains("lattice.size")
                        ? fmt::format("{}, p = {}, {}", value("lattice.size"), value("lattice.p"),
                                      value("lattice.rule"))
                        : fmt::format("graph {}", source.empty() ? value("graph.hash") : source);
    words.rest = fmt::format("T = {}; {} {}, {} replicas, {} cycles discarded, every {}",
                             value("sampling.temperatures"), value("sampling.schedule"),
                             value("sampling.cluster"), value("sampling.replicas"),
                             value("sampling.equilibrate"), value("sampling.every"));
    return words;
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::data) throw;
    return {"damaged", error.what(), 0};
  }
}

std::vector<StoredTask> unasked(const std::vector<StoredTask>& stored, const AskedTasks& asked) {
  std::vector<StoredTask> left;
  for (const StoredTask& task : stored) {
    if (!asked.contains(task.id)) left.push_back(task);
  }
  return left;
}

// The tasks of the last complete run that have no file, one per line; "" if there are none.
std::string missing_text(const std::vector<StoredTask>& stored, const AskedTasks& asked,
                         bool damaged) {
  AskedTasks missing = asked;
  for (const StoredTask& task : stored) missing.erase(task.id);
  if (missing.empty()) return "";
  std::string text = fmt::format(
      "\n{} task(s) of the last run are missing; running the study again{} computes them:\n",
      missing.size(), damaged ? " with --recompute-damaged" : "");
  for (const auto& [id, purpose] : missing) text += fmt::format("  {}.h5 ({})\n", id, purpose);
  return text;
}

std::uint64_t bytes_of(const std::vector<StoredTask>& tasks) {
  std::uint64_t bytes = 0;
  for (const StoredTask& task : tasks) bytes += task.bytes;
  return bytes;
}

// Checkpoints of unused tasks.
std::vector<std::string> unasked_checkpoints(const fs::path& folder, const AskedTasks& asked) {
  std::vector<std::string> ids;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    constexpr std::string_view ending = ".part.h5";
    if (name.starts_with(".") || !name.ends_with(ending)) continue;
    name.resize(name.size() - ending.size());
    if (!asked.contains(name)) ids.push_back(name);
  }
  return ids;
}

// Locks the folder exclusively; Error(held) if another process works in it.
class ExclusiveFolder {
 public:
  explicit ExclusiveFolder(const fs::path& folder) {
    const fs::path path = folder / ".study.lock";
    file_ = ::open(path.c_str(), O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_RDWR | O_CREAT, 0666);
    if (file_ < 0) fail_io("open", path, errno);
    if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
    const int error = errno;
    ::close(file_);
    if (error != EWOULDBLOCK) fail_io("lock", path, error);
    throw Error(
        ExitCode::held,
        fmt::format("another process works in folder '{}': nothing is removed", folder.string()));
  }
  ExclusiveFolder(const ExclusiveFolder&) = delete;
  ExclusiveFolder& operator=(const ExclusiveFolder&) = delete;
  ~ExclusiveFolder() { ::close(file_); }

 private:
  int file_ = -1;
};

struct ContentOptions {
  std::string folder;
  bool list = false, prune = false;
};

// One row per lattice: number of tasks by purpose, and size. Adds misplaced tasks to `problems`.
std::string contents_table(const std::vector<StoredTask>& stored, const AskedTasks& asked,
                           bool list, std::vector<std::string>& problems) {
  struct Row {
    std::map<std::string, std::size_t> counts;
    std::uint64_t bytes = 0;
  };
  std::map<std::string, Row> lattices;
  std::vector<std::vector<std::string>> rows;
  if (list) rows.push_back({"task", "for", "lattice", "", "measured", "size", "file"});
  for (const StoredTask& task : stored) {
    const TaskDescription words = describe(task);
    if (words.lattice == kMisplaced) problems.push_back(words.rest);
    const auto found = asked.find(task.id);
    const std::string purpose = found == asked.end() ? "-" : found->second;
    Row& row = lattices[words.lattice];
    ++row.counts[purpose];
    row.bytes += task.bytes;
    if (!list) continue;
    rows.push_back({task.id, purpose, words.lattice, words.rest,
                    fmt::format("{}", words.measurements),
                    bytes_text(static_cast<double>(task.bytes)), task.file.filename().string()});
  }
  if (list) return aligned_table(rows);
  rows.push_back({"lattice", "graphs", "others", "not requested", "size"});
  for (const auto& [lattice, row] : lattices) {
    std::size_t graphs = 0, others = 0, left = 0;
    for (const auto& [purpose, count] : row.counts) {
      (purpose == "graph" ? graphs : purpose == "-" ? left : others) += count;
    }
    rows.push_back({lattice, fmt::format("{}", graphs), fmt::format("{}", others),
                    fmt::format("{}", left), bytes_text(static_cast<double>(row.bytes))});
  }
  return aligned_table(rows);
}

ExitCode run_study_contents(const ContentOptions& options) {
  const fs::path folder = options.folder, tasks = folder / "tasks";
  if (!file_exists(folder / "study.toml")) {
    throw Error(
        ExitCode::io,
        fmt::format("'{}' is not the folder of a study: study.toml is missing", folder.string()));
  }
  std::optional<ExclusiveFolder> alone;
  if (options.prune) alone.emplace(folder);
  const auto asked = read_asked(folder);
  std::vector<std::string> problems;
  const std::vector<StoredTask> stored =
      folder_exists(tasks) ? stored_tasks(tasks, problems) : std::vector<StoredTask>{};
  std::string table;
  if (!options.prune) {
    table = contents_table(stored, asked ? asked->tasks : AskedTasks{}, options.list, problems);
  }
  for (const auto& problem : problems) fmt::print(stderr, "warning: {}\n", problem);
  if (!options.prune) {
    fmt::print("{}", table);
    if (!asked) {
      fmt::print("\nno run was completed in this folder, so the requested tasks are unknown\n");
      return ExitCode::done;
    }
    fmt::print("{}", missing_text(stored, asked->tasks, !problems.empty()));
    const auto left = unasked(stored, asked->tasks);
    fmt::print("\n{} tasks, {}; {} ({}) not requested\n", stored.size(),
               bytes_text(static_cast<double>(bytes_of(stored))), left.size(),
               bytes_text(static_cast<double>(bytes_of(left))));
    return ExitCode::done;
  }

  // Only tasks that a complete run with this very configuration did not use.
  const StudyConfig config = read_study_config(folder / "study.toml");
  const StudyFolder place(folder, config, asked ? asked->command : "");
  if (!asked || asked->configuration != place.hash()) {
    throw Error(ExitCode::data,
                fmt::format("'{}': its last run was not completed, so the requested tasks are "
                            "not known; run it again first",
                            folder.string()));
  }
  place.clear_leftovers();
  const bool finished = place.is_finished();
  std::vector<std::string> ids = unasked_checkpoints(tasks, asked->tasks);
  for (const StoredTask& task : unasked(stored, asked->tasks)) ids.push_back(task.id);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  const std::uint64_t freed = remove_tasks(tasks, ids);
  if (finished) place.mark_finished();
  fmt::print("{} task(s) removed, {}\n", ids.size(), bytes_text(static_cast<double>(freed)));
  return ExitCode::done;
}

constexpr const char* kStudyAbout =
    "Lists the contents of a study's folder and removes tasks that are not requested.\n\n"
    "Example: rewise study studies/sweep\n\n"
    "A study whose sizes, p, temperatures or sampling were edited keeps its earlier tasks.\n"
    "For each lattice, shows the number of tasks for results, of other tasks (pilots, scans,\n"
    "tuning), and of tasks that the last complete run did not request. Lists requested tasks\n"
    "that are missing.";

constexpr const char* kStudyExamples = R"(
More examples:
  rewise study studies/sweep --list     a row per task
  rewise study studies/sweep --prune    remove tasks that are not requested)";

}  // namespace

void write_asked(const StudyFolder& place, const std::string& command, const AskedTasks& asked) {
  Json json;
  json["format"] = "rewise tasks";
  json["format_version"] = 1;
  json["command"] = command;
  json["configuration"] = place.hash();
  json["tasks"] = asked;
  write_text_file(place.path() / kFile, json.dump(1) + "\n");
}

std::string unasked_text(const fs::path& folder, const AskedTasks& asked) {
  constexpr std::size_t kLooked = 200, kNamed = 3;
  std::vector<std::string> problems;
  const auto left = unasked(stored_tasks(folder / "tasks", problems), asked);
  if (left.empty()) return "";
  std::map<std::string, std::size_t> kinds;
  for (std::size_t k = 0; k < std::min(left.size(), kLooked); ++k) {
    const TaskDescription words = describe(left[k]);
    ++kinds[words.lattice + (words.rest.empty() ? "" : ", ") + words.rest];
  }
  std::string text = fmt::format("{} task(s) of this folder ({}) are no longer requested:\n",
                                 left.size(), bytes_text(static_cast<double>(bytes_of(left))));
  std::size_t named = 0;
  for (const auto& [kind, count] : kinds) {
    if (named++ == kNamed) break;
    text += fmt::format("  {} of {}\n", count, kind);
  }
  if (kinds.size() > kNamed || left.size() > kLooked) text += "  .. and others\n";
  return text + fmt::format("'rewise study {} --prune' removes them\n", folder.string());
}

AddedCommand add_study_command(CLI::App& program) {
  auto options = std::make_shared<ContentOptions>();
  CLI::App& app = add_command(program, "study", kStudyAbout, kStudyExamples);
  add_argument(app, "folder", options->folder, "DIR", "a study's folder");
  add_flag(app, "--list", options->list, "every task, one a line");
  add_flag(app, "--prune", options->prune,
           "remove tasks that the last complete run did not request");
  exclude(app, "--prune", "--list");
  return {&app, [options] { return run_study_contents(*options); }};
}

}  // namespace rewise

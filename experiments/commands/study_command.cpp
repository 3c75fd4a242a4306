// `rewise study`: lists and checks the contents of a study's folder, and removes unused tasks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include "experiments/commands/study_contents.hpp"
#include "experiments/console/commands.hpp"
#include "src/base/count_text.hpp"
#include "src/base/error.hpp"
#include "src/base/table.hpp"
#include "src/search/costs.hpp"
#include "src/search/size_plan.hpp"
#include "src/settings/memory_need.hpp"
#include "src/store/sealed_file.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace {

namespace fs = std::filesystem;

struct ContentOptions {
  std::string folder;
  bool list = false, prune = false, check = false;
};

// tasks.json calls a task of the results "graph".
std::string purpose_text(const std::string& purpose) {
  return purpose == "graph" ? "result" : purpose;
}

// One row per lattice: number of tasks by purpose (if it is known), and size on disk. With `list`,
// one row per task.
std::string contents_table(const StudyContents& contents, const std::optional<LastRun>& last,
                           bool list) {
  const RequestedTasks requested = last ? last->tasks : RequestedTasks{};
  struct Row {
    std::map<std::string, std::size_t> counts;
    std::uint64_t bytes = 0;
  };
  std::map<std::string, Row> lattices;
  std::vector<std::vector<std::string>> rows;
  if (list) rows.push_back({"task", "for", "lattice", "settings", "measured", "size", "file"});
  for (std::size_t k = 0; k < contents.stored.size(); ++k) {
    const StoredTask& task = contents.stored[k];
    const TaskDescription& words = contents.described[k];
    const auto found = requested.find(task.id);
    const std::string purpose = found == requested.end() ? "-" : found->second;
    Row& row = lattices[words.lattice_text()];
    ++row.counts[purpose];
    row.bytes += task.bytes;
    if (!list) continue;
    rows.push_back({task.id, purpose_text(purpose), words.lattice_text(), words.rest,
                    fmt::format("{}", words.measurements),
                    bytes_text(static_cast<double>(task.bytes)), task.file.filename().string()});
  }
  if (list) {
    return aligned_table(rows) +
           "\nfor: result (the results use it), pilot, scan, tune, abandoned (of temperatures that "
           "were\ngiven up); -: not requested by the last complete run.\nmeasured: measurements of "
           "each replica. size: on disk, compressed.\n";
  }
  if (last) {
    rows.push_back({"lattice", "results", "others", "not requested", "size"});
  } else {
    rows.push_back({"lattice", "tasks", "size"});
  }
  for (const auto& [lattice, row] : lattices) {
    std::size_t graphs = 0, others = 0, left = 0;
    for (const auto& [purpose, count] : row.counts) {
      (purpose == "graph" ? graphs : purpose == "-" ? left : others) += count;
    }
    std::vector<std::string> cells{lattice};
    if (last) {
      cells.push_back(fmt::format("{}", graphs));
      cells.push_back(fmt::format("{}", others));
    }
    cells.push_back(fmt::format("{}", left));
    cells.push_back(bytes_text(static_cast<double>(row.bytes)));
    rows.push_back(std::move(cells));
  }
  return aligned_table(rows) +
         (last ? "\nNumbers of tasks (a task: one network at its temperatures): results use them; "
                 "others chose\ntemperatures, times and schedules, or were abandoned with their "
                 "temperatures (--list); not\nrequested: the last complete run did not use them "
                 "(--prune removes them). size: on disk.\n"
               : "");
}

// The tasks of the last complete run that have no file, one per line; "" if there are none.
std::string missing_text(const std::vector<StoredTask>& stored, const RequestedTasks& requested,
                         bool damaged) {
  RequestedTasks missing = requested;
  for (const StoredTask& task : stored) missing.erase(task.id);
  if (missing.empty()) return "";
  const bool one = missing.size() == 1;
  std::string text =
      fmt::format("\n{} of the last run {} missing; running the study again{} computes {}:\n",
                  count_text(missing.size(), "task"), one ? "is" : "are",
                  damaged ? " with --recompute-damaged" : "", one ? "it" : "them");
  for (const auto& [id, purpose] : missing) {
    text += fmt::format("  {}.h5 ({})\n", id, purpose_text(purpose));
  }
  return text;
}

// The fraction of the requested measurements of a task that `stored` contains.
double done_part(const TaskDescription& stored, const StudyConfig& config) {
  const auto requested = [&](double t) {
    return std::ranges::find(config.temperatures, t) != config.temperatures.end();
  };
  double part = 1;
  if (!config.temperatures.empty()) {
    if (!std::ranges::all_of(stored.temperatures, requested)) return 0;
    part *= static_cast<double>(stored.temperatures.size()) /
            static_cast<double>(config.temperatures.size());
  }
  if (config.measure && stored.measurements < *config.measure) {
    part *= static_cast<double>(stored.measurements) / static_cast<double>(*config.measure);
  }
  return part;
}

// Progress of a study that was not completed with its present configuration. Tasks for results are
// recognised by their seed, which follows from lattice, p, rule and graph (plan_task()).
std::string progress_text(const StudyConfig& config, const std::vector<TaskDescription>& stored) {
  const auto not_completed = [](const std::string& known) {
    return fmt::format("\nThis study was not completed: {}; running it again continues it.\n",
                       known);
  };
  // The tree condition chooses its lattices; study.toml states this method.
  if (!config.files.empty() || config.method == TcMethodWord::tree) {
    return not_completed(fmt::format("it has stored {}", count_text(stored.size(), "task")));
  }
  std::set<std::string> result_seeds;
  std::size_t requested = 0;
  for (const Rule rule : config.rules) {
    StudyConfig own = config;
    own.rules = {rule};
    for (std::size_t size = 0; size < config.sizes.size(); ++size) {
      for (const double p : config.p) {
        requested += config.graphs[size] * schedules_compared(config);
        for (std::uint32_t graph = 0; graph < config.graphs[size]; ++graph) {
          for (const char* command : {"tc", "sweep"}) {
            const TaskSpec spec = plan_task(own, p, config.sizes[size], graph, {}, command);
            result_seeds.insert(fmt::format("{}", spec.seed));
          }
        }
      }
    }
  }
  double done = 0;
  std::size_t others = 0;
  for (const TaskDescription& task : stored) {
    if (result_seeds.contains(task.seed)) {
      done += done_part(task, config);
    } else {
      ++others;
    }
  }
  const double part = std::min(1.0, done / static_cast<double>(requested));
  return not_completed(fmt::format(
      "about {:.0f} % of the {}{} for results {} done, and it has stored {} "
      "(pilots, scans, tuning)",
      std::floor(100 * part), config.target_error ? "first " : "", count_text(requested, "task"),
      requested == 1 ? "is" : "are", count_text(others, "other task")));
}

// Ids of the checkpoints of tasks that were not requested.
std::vector<std::string> unrequested_checkpoints(const fs::path& folder,
                                                 const RequestedTasks& requested) {
  std::vector<std::string> ids;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    constexpr std::string_view ending = ".part.h5";
    if (name.starts_with(".") || !name.ends_with(ending)) continue;
    name.resize(name.size() - ending.size());
    if (!requested.contains(name)) ids.push_back(name);
  }
  return ids;
}

// Adds a line to `problems` if a sealed file other than a task is damaged. Returns whether the file
// exists.
bool check_file(const fs::path& file, std::vector<std::string>& problems) {
  std::uint64_t length = 0;
  const SealedRead read = check_sealed(file, length);
  if (read.state == SealState::missing) return false;
  if (read.state != SealState::good) {
    problems.push_back(fmt::format("{} is damaged: {}", file.string(), read.problem));
  }
  return true;
}

void print_warnings(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) fmt::print(stderr, "warning: {}\n", line);
}

// --check: names every damaged or missing file of tasks, checkpoints and summary.h5. Throws
// Error(data) if there are any. `problems`: what was found before.
ExitCode check_contents(const fs::path& folder, const std::optional<LastRun>& last,
                        const StudyContents& contents, std::vector<std::string> problems) {
  for (const TaskDescription& task : contents.described) {
    if (task.condition == TaskCondition::damaged) problems.push_back(task.rest);
    problems.insert(problems.end(), task.warnings.begin(), task.warnings.end());
  }
  std::size_t others = check_file(folder / "summary.h5", problems) ? 1 : 0;
  for (const std::string& id : unrequested_checkpoints(folder / "tasks", {})) {
    if (check_file(folder / "tasks" / (id + ".part.h5"), problems)) ++others;
  }
  RequestedTasks missing = last ? last->tasks : RequestedTasks{};
  for (const StoredTask& task : contents.stored) missing.erase(task.id);
  for (const auto& [id, purpose] : missing) {
    problems.push_back(
        fmt::format("task {} ({}) of the last complete run is missing", id, purpose_text(purpose)));
  }
  print_warnings(problems);
  fmt::print("{} and {} read\n", count_text(contents.stored.size(), "task"),
             count_text(others, "other file"));
  std::fflush(stdout);
  if (!problems.empty()) {
    throw Error(ExitCode::data,
                fmt::format("'{}': {} (see the warnings; running the study again with "
                            "--recompute-damaged computes what is lost)",
                            folder.string(), count_text(problems.size(), "problem")));
  }
  fmt::print("no damage\n");
  return ExitCode::done;
}

// --prune: removes only tasks that a complete run with the present configuration did not request.
ExitCode prune(const fs::path& folder) {
  const fs::path tasks = folder / "tasks";
  StudyLock alone(folder);
  if (!alone.exclusive() && alone.works()) {
    throw Error(
        ExitCode::held,
        fmt::format("another process works in folder '{}': nothing was removed", folder.string()));
  }
  if (!alone.works()) {
    fmt::print(stderr,
               "warning: '{}' cannot be locked: --prune does not see other processes in it\n",
               folder.string());
  }
  std::vector<std::string> problems, task_problems;
  const auto last = read_last_run(folder, problems);
  std::vector<StoredTask> stored;
  if (folder_exists(tasks)) stored = stored_tasks(tasks, task_problems);
  print_warnings(problems);
  print_warnings(task_problems);
  const StudyConfig config = read_study_config(folder / "study.toml");
  const StudyFolder place(folder, config, last ? last->command : "");
  if (!last || last->configuration != place.hash()) {
    throw Error(ExitCode::data,
                fmt::format("'{}': its last run was not completed, so the requested tasks are "
                            "unknown; run the study again first",
                            folder.string()));
  }
  place.clear_leftovers();
  const bool finished = place.is_finished();
  std::vector<std::string> ids = unrequested_checkpoints(tasks, last->tasks);
  for (const StoredTask& task : unrequested(stored, last->tasks)) ids.push_back(task.id);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  const std::uint64_t freed = remove_tasks(tasks, ids);
  if (finished) place.mark_finished();
  fmt::print("{} removed, {}\n", count_text(ids.size(), "task"),
             bytes_text(static_cast<double>(freed)));
  return ExitCode::done;
}

void require_study_folder(const fs::path& folder) {
  if (folder.extension() == ".toml" && !folder_exists(folder)) {
    const fs::path own = folder.parent_path();
    const bool inside = folder.filename() == "study.toml" && file_exists(folder);
    throw Error(
        ExitCode::usage,
        fmt::format("'{}' is the file of a study, but this command requires the folder "
                    "with its results{}",
                    folder.string(),
                    inside ? fmt::format(": rewise study {}", own.empty() ? "." : own.string())
                           : " (--out of 'rewise tc' and 'rewise sweep', by default "
                             "studies/NAME)"));
  }
  if (!file_exists(folder / "study.toml")) {
    throw Error(
        ExitCode::io,
        fmt::format("'{}' is not the folder of a study: study.toml is missing", folder.string()));
  }
}

ExitCode run_study_contents(const ContentOptions& options) {
  const fs::path folder = options.folder;
  require_study_folder(folder);
  if (options.prune) return prune(folder);
  std::vector<std::string> problems;  // of tasks.json
  const auto last = read_last_run(folder, problems);
  const bool damaged_list = !problems.empty();
  const StudyContents contents = read_contents(folder / "tasks");
  const auto& [stored, described, task_problems] = contents;
  problems.insert(problems.end(), task_problems.begin(), task_problems.end());
  if (options.check) return check_contents(folder, last, contents, std::move(problems));
  print_warnings(problems);
  fmt::print("{}", contents_table(contents, last, options.list));
  if (damaged_list) return ExitCode::done;  // it is unknown which tasks are requested
  try {
    const StudyConfig present = read_study_config(folder / "study.toml");
    if (!last || last->configuration != StudyFolder(folder, present, last->command).hash()) {
      fmt::print("{}", progress_text(present, described));
    }
  } catch (const Error& error) {
    fmt::print(stderr, "warning: the requested tasks are unknown: {}\n", error.what());
  }
  if (!last) return ExitCode::done;
  fmt::print("{}", missing_text(stored, last->tasks, !task_problems.empty()));
  const auto left = unrequested(stored, last->tasks);
  fmt::print("\n{}, {}; {} ({}) not requested\n", count_text(stored.size(), "task"),
             bytes_text(static_cast<double>(bytes_of(stored))), left.size(),
             bytes_text(static_cast<double>(bytes_of(left))));
  return ExitCode::done;
}

constexpr const char* kStudyAbout =
    "List or check the tasks of a study's folder, or remove tasks that are not requested.\n\n"
    "Example: rewise study studies/sweep\n\n"
    "A task is the simulation of one network at its temperatures. A study whose sizes, p,\n"
    "temperatures or sampling were edited keeps its earlier tasks.\n"
    "For each lattice, prints the number of tasks for results, of other tasks (pilots, scans,\n"
    "tuning), and of tasks that the last complete run did not request. Then lists requested\n"
    "tasks that are missing. For a study that was not completed, prints how many tasks are done.\n"
    "--check reads all files that have a digest: task files, their archives, checkpoints,\n"
    "summary.h5 and tasks.json. It computes and changes nothing.";

constexpr const char* kStudyExamples = R"(
More examples:
  rewise study studies/sweep --list     a row per task
  rewise study studies/sweep --check    status 0: all files are intact; 65: some are not
  rewise study studies/sweep --prune    remove tasks that are not requested)";

}  // namespace

AddedCommand add_study_command(CLI::App& program) {
  auto options = std::make_shared<ContentOptions>();
  CLI::App& app = add_command(program, "study", kStudyAbout, kStudyExamples);
  add_argument(app, "folder", options->folder, "DIR", "a study's folder");
  add_flag(app, "--list", options->list, "list every task, one per line");
  add_flag(app, "--prune", options->prune,
           "remove tasks that the last complete run did not request");
  add_flag(app, "--check", options->check,
           "read all files and compare their digests; status 65 if one\nis damaged or missing, "
           "else 0");
  exclude(app, "--prune", "--list");
  exclude(app, "--check", "--list");
  exclude(app, "--check", "--prune");
  return {&app, [options] { return run_study_contents(*options); }};
}

}  // namespace rewise

#include "experiments/commands/study_options.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "experiments/commands/study_contents.hpp"
#include "experiments/console/python.hpp"
#include "experiments/console/shared_options.hpp"
#include "src/base/count_text.hpp"
#include "src/results/cells.hpp"
#include "src/search/run_study.hpp"
#include "src/search/study_need.hpp"
#include "src/settings/memory_need.hpp"
#include "src/settings/parse.hpp"
#include "src/settings/schema.hpp"
#include "src/store/syscalls.hpp"
#include "src/study/ranks.hpp"

namespace rewise {
std::string keys_help(std::string_view command) {
  constexpr std::size_t width = 90;
  std::string text, line;
  for (const KeyTable& table : study_keys()) {
    line = fmt::format("  {:<11}", fmt::format("[{}]", table.table));
    for (const auto key : table.keys) {
      const Setting& one = *find_setting(table.table, key);
      if (!one.command.empty() && one.command != command) continue;
      const std::string part = one.standard == "required" ? one.key + " = " + one.example : one.key;
      if (line.size() + part.size() + 2 > width) {
        text += line + ",\n";
        line = std::string(13, ' ');
      }
      line += (line.ends_with(' ') ? "" : ", ") + part;
    }
    text += line + "\n";
  }
  return fmt::format(
      "Keys of STUDY.toml (keys with a value here are required, all others have "
      "defaults;\n'rewise help KEY' explains a key, 'rewise help' lists all):\n\n{}",
      text);
}

const char* const kScheduleHelp =
    R"(schedule "auto" tunes M:W once for each p and size, if there is enough work (see 'rewise
tune'), and stores the choice in DIR/schedules. With cluster "auto" (the default for schedule
"auto"; else "wolff") it also chooses between Swendsen-Wang and Wolff.
)";

const char* const kResultsHelp =
    R"(Results: DIR/study.toml (the configuration with its defaults), DIR/tasks (one file per graph;
small ones are moved into archives tasks.N.pack.h5), DIR/summary.json,
DIR/summary.txt (the tables that are printed), DIR/summary.csv (averages at every
temperature), for tc DIR/tc.csv (one row per p), DIR/plots, DIR/report.html.
Running the same command again computes only what is missing. If `measure` was raised, finished
tasks continue from their final states (with keep_states = false in [run] there are none, and
they start again). A study that is stopped also prints the table of its finished tasks.
Several processes may work on the same DIR, for example the ranks of `mpirun -n K` or srun;
each rank uses one GPU of its node. Ranks with different DIRs run separate studies.
device "auto" uses a GPU unless the CPU would finish the whole study before a GPU has started.
Averages over 8 graphs or more use control variates, which reduce errors. The number of rewired
ends and the sum of squared degrees of these graphs differ from their exact means; the averages
are corrected for this. Averages without correction are also listed (energy_plain and so on).

)";

void add_study_options(CLI::App& app, StudyOptions& options) {
  add_argument(app, "study", options.study, "STUDY.toml", "the study's configuration");
  add_text(app, "--out", options.out, "DIR", "the study's folder [studies/NAME]");
  add_key(app, "run.device", options.device,
          "replaces run.device; cuda:0,1 and so on: several GPUs, each for other networks");
  add_threads(app, options.threads,
              help_lines(setting("run.threads").help + "; replaces run.threads"));
  add_key(app, "run.time_limit", options.time_limit, "replaces run.time_limit");
  add_flag(app, "--recompute-damaged", options.recompute_damaged,
           "set damaged results without a good copy aside and compute\nthem again (default: the "
           "study ends with status 65)");
  add_off_flag(app, "--no-plots", options.plots, "draw no plots, write no report.html");
  add_flag(app, "--json", options.json, "print summary.json instead of the table");
  add_flag(app, "--dry-run", options.dry_run,
           "only print the initial tasks (a task: one network at its\ntemperatures), and the "
           "memory, disk space and time that\nthey need");
}

StudyConfig configure(const StudyOptions& options) {
  if (folder_exists(options.study)) {
    const std::filesystem::path own = std::filesystem::path(options.study) / "study.toml";
    throw Error(ExitCode::usage,
                fmt::format("'{}' is a folder; give the file of a study{}", options.study,
                            file_exists(own)
                                ? fmt::format(", here {} --out {}", own.string(), options.study)
                                : ""));
  }
  StudyConfig config = read_study_config(options.study);
  if (!options.device.empty()) {
    check_device_words(options.device, "--device");
    config.device = options.device;
  }
  if (options.threads > 0) {
    config.threads = static_cast<int>(options.threads);
  } else {
    warn_beyond_cores(static_cast<std::uint64_t>(config.threads), "run.threads");
  }
  if (!options.time_limit.empty()) {
    const auto limit = parse_time_limit(options.time_limit, "--time-limit");
    config.time_limit = limit ? std::optional(limit->count()) : std::nullopt;
  }
  config.recompute_damaged = options.recompute_damaged;
  return config;
}

std::filesystem::path study_folder(const StudyOptions& options, const StudyConfig& config) {
  if (!options.out.empty()) return options.out;
  return std::filesystem::path("studies") /
         (config.has_name ? config.name : std::filesystem::path(options.study).stem().string());
}

namespace {

void print_partial(const StudyOptions& options, const StudyOutcome& so_far) {
  Json summary = so_far.summary;
  Json& points = summary["points"];
  if (options.json) {
    if (points.empty()) points = Json::array();
    fmt::print("{}\n", summary.dump(2));
  } else if (points.empty()) {
    fmt::print(stderr, "no table yet: too few networks are finished\n");
  } else {
    fmt::print("\nPARTIAL: the study was stopped; this table has the finished networks only\n{}",
               so_far.text);
  }
  std::fflush(stdout);
}

ExitCode print_study_needs(const StudyRequest& request, bool as_json) {
  const StudyConfig& config = request.config;
  const StudyNeed need = study_need(config, request.method, request.likely());
  const bool tree = request.method == TcMethod::tree;
  const MemoryRoom room = memory_room();
  const bool known = config.measure.has_value() && !config.temperatures.empty();
  if (as_json) {
    Json list = Json::array();
    for (const Cells& row : need.rows) list.push_back(cells_json(row));
    const Json json{{"tasks", list},
                    {"disk_bytes", tree ? Json(nullptr) : Json(need.disk)},
                    {"memory_left_bytes", room.bytes},
                    {"memory_limit", room.limit},
                    {"cpu_seconds", tree ? Json(nullptr) : number_json(need.cpu_seconds)},
                    {"threads", need.threads},
                    {"all_is_known", known && !tree && !config.target_error.has_value()}};
    fmt::print("{}\n", json.dump(2));
    return ExitCode::done;
  }
  if (tree) {
    fmt::print(
        "no estimate for method = \"tree\": the tree condition chooses its lattices during the "
        "study\n(start it with --time-limit; 'rewise study DIR' shows what was done, and the same "
        "command continues)\n{} leaves {} of memory\n",
        room.limit, bytes_text(room.bytes));
    return ExitCode::done;
  }
  fmt::print("{}", cells_table(need.rows));
  fmt::print("\n{}, about {} on disk; {} leaves {} of memory\n", count_text(need.tasks, "task"),
             bytes_text(need.disk), room.limit, bytes_text(room.bytes));
  if (std::isfinite(need.cpu_seconds)) {
    fmt::print("{} on {} of the CPU\n", estimate_text(need.cpu_seconds),
               count_text(need.threads, "thread"));
  }
  if (!need.assumed.empty()) fmt::print("assumed for \"auto\": {}\n", need.assumed);
  if (config.target_error) {
    fmt::print(
        "unknown: the total time, and the graphs, measurements and sizes that target_error will "
        "add\n");
  }
  if (config.schedules.empty() || !config.equilibrate || !config.every) {
    fmt::print("not included: short runs that determine schedule, equilibrate or every\n");
  }
  if (request.method == TcMethod::both) {
    fmt::print("not included: the tree condition, which chooses its lattices during the study\n");
  }
  return ExitCode::done;
}

ExitCode print_needs(const StudyRequest& request, bool as_json) {
  StudyFolder(request.folder, request.config, request.command()).check_free();
  try {
    study_devices(request);
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::device) throw;
    fmt::print(stderr, "{}; the estimate is that of the CPU\n", error.what());
  }
  return print_study_needs(request, as_json);
}

// Prints the results of a finished study and draws its plots.
ExitCode show_study(const StudyOptions& options, const std::filesystem::path& folder,
                    const FinishedStudy& finished) {
  const std::string unrequested =
      finished.requested.empty() ? "" : unrequested_text(folder, finished.requested);
  fmt::print("{}", read_text_file(folder / (options.json ? "summary.json" : "summary.txt")));
  std::fflush(stdout);
  ExitCode status = ExitCode::done;
  if (options.plots && !is_up_to_date(folder / "report.html", folder / "summary.json")) {
    status = draw_report(folder);
  }
  fmt::print(stderr, "{}{}", unrequested.empty() ? "" : "\n", unrequested);
  fmt::print(stderr, "\n{} computed{}{}, {}; results in {}\n",
             count_text(finished.computed, "task"), this_rank().size > 1 ? " by this process" : "",
             finished.computed > 0 ? " (a task: one network at its temperatures)" : "",
             duration_text(finished.seconds), folder.string());
  return status;
}

}  // namespace

ExitCode run_study_command(const StudyOptions& options, const StudyConfig& config,
                           std::optional<TcMethod> method,
                           const std::function<StudyAnalysis()>& analysis) {
  const StudyRequest request{method,
                             config,
                             study_folder(options, config),
                             options.device.empty() ? options.study + ": run.device" : "--device",
                             analysis,
                             [&](const StudyOutcome& so_far) { print_partial(options, so_far); }};
  if (options.dry_run) return print_needs(request, options.json);
  return run_study(request, [&](const FinishedStudy& finished) {
    return show_study(options, request.folder, finished);
  });
}

}  // namespace rewise

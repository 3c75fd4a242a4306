// Common part of the subcommands that run a study (tc, sweep): options, the study's folder, and the
// steps before and after the tasks.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/console/commands.hpp"
#include "src/search/sweep_search.hpp"
#include "src/study/json_output.hpp"
#include "src/study/study.hpp"

namespace rewise {

struct StudyOptions {
  std::string study, out, device, time_limit;
  std::uint64_t threads = 0;
  bool json = false, plots = true, recompute_damaged = false, dry_run = false;
};

// STUDY.toml, --out, --device, --threads, --time-limit, --profile, --recompute-damaged, --no-plots,
// --json, --dry-run.
void add_study_options(CLI::App& app, StudyOptions& options);

// The keys that a command reads from a study's file, for its --help.
std::string keys_help(std::string_view command);
// Paragraphs of --help: on schedule and cluster "auto", on results. Both end in a newline.
extern const char* const kScheduleHelp;
extern const char* const kResultsHelp;

// The configuration of the file, overridden by the command line.
StudyConfig configure(const StudyOptions& options);

struct StudyOutcome {
  Json summary;
  std::string text;            // summary.txt: the tables that are printed
  std::string csv;             // summary.csv
  std::string tc_csv = {};     // tc.csv; "": none
  std::string resamples = {};  // summary.h5 (resamples.hpp); "": none
};
using ComputeOutcome = std::function<StudyOutcome()>;

// Output before the end of a study. On ranks other than the leading one, both functions do nothing.
struct EarlyResults {
  // Computes the results so far and writes their files.
  std::function<void(const ComputeOutcome&)> write;
  // Prints the results of the finished tasks of an interrupted study, marked as partial ("partial":
  // true in JSON). Never throws, because the interruption is the error to report.
  std::function<void(const ComputeOutcome&)> print;
};

// Runs the tasks, then analyses them (only if StudyFolder::leads()). Calls early.print() before it
// rethrows Error(interrupted).
using StudyAnalysis = std::function<StudyOutcome(Study& study, const StopToken& stop,
                                                 Progress& progress, const EarlyResults& early)>;

// --out, or studies/NAME.
std::filesystem::path study_folder(const StudyOptions& options, const StudyConfig& config);

// The analysis of a parameter sweep, and of `tc` by crossings of overlaps. It writes the outcome of
// the points so far before each round of a target, and prints it if the study is interrupted.
StudyAnalysis sweep_analysis(
    SweepGoal goal, const std::function<StudyOutcome(const std::vector<SweepPoint>&)>& outcome);

// Runs a study from its configuration to summary, plots and report, in --out or studies/NAME. If
// all of these exist already, only prints the results. `command`: tc or sweep.
ExitCode run_study(const std::string& command, const StudyOptions& options,
                   const StudyConfig& config, const StudyAnalysis& analysis);

}  // namespace rewise

// What the subcommands that run a study share: their options, the study's folder, and what happens
// before and after the tasks run.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/console/commands.hpp"
#include "src/study/json_output.hpp"
#include "src/study/study.hpp"

namespace rewise {

struct StudyOptions {
  std::string study, out, device, time_limit;
  std::uint64_t threads = 0;
  bool json = false, plots = true, recompute_damaged = false, dry_run = false;
};

// STUDY.toml, --out, --device, --threads, --time-limit, --no-plots, --json, --dry-run.
void add_study_options(CLI::App& app, StudyOptions& options);

// The keys of a study's file that a command (tc, sweep) reads, for its --help.
std::string keys_help(std::string_view command);
// Paragraphs of --help: on schedule and cluster "auto", on results. Both end in a newline.
extern const char* const kScheduleHelp;
extern const char* const kResultsHelp;

// The file's configuration with the command line over it.
StudyConfig configure(const StudyOptions& options);

struct StudyOutcome {
  Json summary;
  std::string csv;             // summary.csv
  std::string tc_csv = {};     // tc.csv; "": none
  std::string resamples = {};  // summary.h5 (resamples.hpp); "": none
};
// Runs the tasks, then analyses them; the latter where StudyFolder::leads() alone.
using StudyAnalysis =
    std::function<StudyOutcome(Study& study, const StopToken& stop, Progress& progress)>;
// What to print on standard output.
using SummaryText = std::function<std::string(const Json& summary)>;

// --out, or studies/NAME.
std::filesystem::path study_folder(const StudyOptions& options, const StudyConfig& config);

// Prints what the finished tasks of an interrupted study say, where this process leads its ranks,
// on standard output and marked as partial ("partial": true in a JSON object). Never fails: the
// interruption is what is to be told.
void print_partial(const StudyFolder& place, const StudyOptions& options,
                   const std::function<Json()>& summary, const SummaryText& text);

// summary.json, with the hash of its configuration, summary.csv and tc.csv; gives the text of the
// first. Error(held) where the folder has become another configuration's.
std::string write_outcome(const StudyFolder& place, StudyOutcome outcome);

// A study from its configuration to summary, plots and report, in --out or studies/NAME. Does
// nothing but print where all of that is there already. `command`: tc, sweep.
ExitCode run_study(const std::string& command, const StudyOptions& options,
                   const StudyConfig& config, const StudyAnalysis& analysis,
                   const SummaryText& text);

}  // namespace rewise

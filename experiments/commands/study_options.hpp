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
  std::string text;            // summary.txt: the tables that are printed
  std::string csv;             // summary.csv
  std::string tc_csv = {};     // tc.csv; "": none
  std::string resamples = {};  // summary.h5 (resamples.hpp); "": none
};
// Runs the tasks, then analyses them; the latter where StudyFolder::leads() alone.
using StudyAnalysis =
    std::function<StudyOutcome(Study& study, const StopToken& stop, Progress& progress)>;

// --out, or studies/NAME.
std::filesystem::path study_folder(const StudyOptions& options, const StudyConfig& config);

// Prints what the finished tasks of an interrupted study give, where this process leads its ranks,
// marked as partial ("partial": true in a JSON object). Never throws: the interruption is the error
// to report.
void print_partial(const StudyFolder& place, const StudyOptions& options,
                   const std::function<StudyOutcome()>& analysis);

// Writes the outcome's files, summary.json with the hash of its configuration. Error(held) where
// the folder has become another configuration's.
void write_outcome(const StudyFolder& place, StudyOutcome outcome);

// Runs a study from its configuration to summary, plots and report, in --out or studies/NAME. Where
// all of that exists, prints the results only. `command`: tc, sweep.
ExitCode run_study(const std::string& command, const StudyOptions& options,
                   const StudyConfig& config, const StudyAnalysis& analysis);

}  // namespace rewise

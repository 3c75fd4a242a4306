// Common part of the subcommands that run a study (tc, sweep): options, the study's folder, and the
// steps before and after the tasks.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/console/commands.hpp"
#include "src/search/study_analysis.hpp"
#include "src/search/tc_method.hpp"

namespace rewise {

struct StudyOptions {
  std::string study, out, device, time_limit;
  std::uint64_t threads = 0;
  bool json = false, plots = true, recompute_damaged = false, dry_run = false;
};

// STUDY.toml, --out, --device, --threads, --time-limit, --recompute-damaged, --no-plots,
// --json, --dry-run.
void add_study_options(CLI::App& app, StudyOptions& options);

// The keys that a command reads from a study's file, for its --help.
std::string keys_help(std::string_view command);
// Paragraphs of --help: on schedule and cluster "auto", on results. Both end in a newline;
// kStopHelp (shared_options.hpp) follows the second one.
extern const char* const kScheduleHelp;
extern const char* const kResultsHelp;

// The configuration of the file, overridden by the command line.
StudyConfig configure(const StudyOptions& options);

// --out, or studies/NAME, or studies/FILE if the study has no name and its file is FILE.toml.
std::filesystem::path study_folder(const StudyOptions& options, const StudyConfig& config);

// Runs a study from its configuration to summary, plots and report, in --out or studies/NAME. If
// all of these exist already, only prints the results. `method`, `analysis`: see StudyRequest.
ExitCode run_study_command(const StudyOptions& options, const StudyConfig& config,
                           std::optional<TcMethod> method,
                           const std::function<StudyAnalysis()>& analysis);

}  // namespace rewise

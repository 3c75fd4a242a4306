// The studies of `tc` and `sweep`, from the settings to the files of results: checks the settings,
// runs the searches that they select, and makes the results.
#pragma once

#include <functional>
#include <string>

#include "src/results/json_output.hpp"
#include "src/study/study.hpp"

namespace rewise {

struct StudyOutcome {
  Json summary;
  std::string text;            // summary.txt: the tables that are printed
  std::string csv;             // summary.csv
  std::string tc_csv = {};     // tc.csv; "": none
  std::string resamples = {};  // summary.h5 (resamples.hpp); "": none
};
using ComputeOutcome = std::function<StudyOutcome()>;

// Results before the end of a study, on the leading rank (elsewhere nothing is computed).
struct EarlyResults {
  // Writes the files of the results so far.
  std::function<void(const ComputeOutcome&)> write;
  // Prints the results of the finished tasks of an interrupted study, marked as partial ("partial":
  // true in JSON). Never throws, because the interruption is the error to report.
  std::function<void(const ComputeOutcome&)> print;
};

// Runs the tasks, then analyses them (only if StudyFolder::leads()). Calls early.print() before it
// rethrows Error(interrupted).
using StudyAnalysis = std::function<StudyOutcome(Study& study, const StopToken& stop,
                                                 Progress& progress, const EarlyResults& early)>;

// `config` comes from tc_config() (tc_search.hpp). The method is crossings of U (tc_search.hpp) or,
// for Potts models, peaks (peaks_analysis.hpp); the tree condition (tree_search.hpp); both; or
// crossings of overlaps (glass_tc.hpp).
StudyAnalysis tc_study(const StudyConfig& config);

// Throws Error(usage), with the name of the file, if a key is for `tc` only, or if graphs from
// files lack what they need.
void check_sweep_config(const StudyConfig& config, const std::string& file);
// `config` has passed check_sweep_config().
StudyAnalysis sweep_study(const StudyConfig& config);

}  // namespace rewise

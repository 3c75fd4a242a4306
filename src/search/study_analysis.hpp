// A study of `tc` or `sweep`, as run_study() runs it: its searches, and the results that they give.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "src/base/error.hpp"
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

// Receives the data of a search before its end. Calls do not overlap. Empty functions are not
// called.
template <class Data>
struct DataHandlers {
  // Before each round of a target_error, if there are new results.
  std::function<void(const Data&)> interim = {};
  // On a stop request, with what is finished. The search then throws Error(interrupted), as
  // Study::run() does.
  std::function<void(const Data&)> interrupted = {};
};

// Returns search(), or throws what it throws. On a stop request, first calls seen.interrupted()
// with finished().
template <class Data, class Search, class Finished>
Data interruptible(const DataHandlers<Data>& seen, const Search& search, const Finished& finished) {
  try {
    return search();
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::interrupted && seen.interrupted) {
      seen.interrupted(finished());
    }
    throw;
  }
}

// The study of a single search, such as search_windows(), whose results are outcome(config, data).
template <class Data, class Search, class Outcome>
StudyAnalysis study_of(const StudyConfig& config, const Search& search, const Outcome& outcome) {
  return [=](Study& study, const StopToken& stop, Progress& progress, const EarlyResults& early) {
    const auto computing = [&](const Data& data) { return [&] { return outcome(config, data); }; };
    DataHandlers<Data> seen;
    seen.interim = [&](const Data& some) { early.write(computing(some)); };
    seen.interrupted = [&](const Data& some) { early.print(computing(some)); };
    Data data = search(study, stop, progress, seen);
    return study.study_folder().leads() ? outcome(config, std::move(data)) : StudyOutcome{};
  };
}

}  // namespace rewise

// Runs a study of `tc` or `sweep` in its folder, and writes the files of its results.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "src/search/costs.hpp"
#include "src/search/study_analysis.hpp"
#include "src/search/task_list.hpp"
#include "src/search/tc_method.hpp"
#include "src/settings/device_choice.hpp"

namespace rewise {

struct StudyRequest {
  std::optional<TcMethod> method;  // of `tc`; nullopt: a `sweep`
  StudyConfig config;
  std::filesystem::path folder;
  std::string device_origin;  // of config.device, for messages
  // Returns the analysis. Called only if the study is not finished, before a new folder is claimed.
  std::function<StudyAnalysis()> analysis;
  // Prints the results of an interrupted study.
  std::function<void(const StudyOutcome&)> print_partial;

  const char* command() const { return method ? "tc" : "sweep"; }
  const LikelyCounts& likely() const { return method ? kLikelyTc : kLikelySweep; }
};

// The devices of this rank. Throws Error(usage, device).
DeviceChoice study_devices(const StudyRequest& request);

struct FinishedStudy {
  std::size_t computed = 0;  // tasks that had no result file before, by this process
  RequestedTasks requested;  // empty if the study was finished before
  double seconds = 0;
};

// Runs what is missing and writes summary.json, with the hash of the configuration, and the other
// files of StudyOutcome. Then calls `show`, while the folder is locked, so that the printed results
// belong to this configuration, and returns its status. On ranks that do not lead, `show` is not
// called. Throws Error(held) if the folder belongs to another configuration, and what Study throws.
ExitCode run_study(const StudyRequest& request,
                   const std::function<ExitCode(const FinishedStudy&)>& show);

}  // namespace rewise

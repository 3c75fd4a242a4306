// What the subcommands that run a study share: their options, the study's folder, what happens once
// the numbers are there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "experiments/commands.hpp"
#include "experiments/config.hpp"
#include "experiments/device.hpp"
#include "src/store/signals.hpp"

namespace rewise {

struct StudyOptions {
  std::string study, out, device, time_limit;
  std::uint64_t threads = 0;
  bool plots = true;
};

// STUDY.toml, --out, --device, --threads, --time-limit, --no-plots.
void add_study_options(CLI::App& app, StudyOptions& options);

// The file's configuration with the command line over it.
StudyConfig configure(const StudyOptions& options);
// Says on standard error which devices it takes, where that is worth saying.
DeviceChoice study_devices(const StudyOptions& options, const StudyConfig& config);
StopToken study_stop(const StudyConfig& config);
// --out, or studies/NAME.
std::filesystem::path study_folder(const StudyOptions& options, const StudyConfig& config);

// Draws the plots and writes report.html; where that is not possible, says why on standard error.
void leave_report(const std::filesystem::path& folder);

}  // namespace rewise

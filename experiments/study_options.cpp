#include "experiments/study_options.hpp"

#include <fmt/format.h>

#include <chrono>

#include "experiments/python.hpp"

namespace rewise {

void add_study_options(CLI::App& app, StudyOptions& options) {
  app.add_option("study", options.study, "the study's configuration")
      ->required()
      ->type_name("STUDY.toml");
  add_text(app, "--out", options.out, "DIR", "the study's folder [studies/NAME]");
  add_text(app, "--device", options.device, "DEVICE",
           "instead of run.device: auto, cpu, cuda, cuda:N, or\n"
           "cuda:0,1 and so on to deal the tasks out to several");
  add_whole(app, "--threads", options.threads, 0, 4096,
            "instead of run.threads; the numbers do not depend on it");
  add_text(app, "--time-limit", options.time_limit, "TIME", "instead of run.time_limit");
  app.add_flag("!--no-plots", options.plots, "draw no plots, write no report.html");
}

StudyConfig configure(const StudyOptions& options) {
  StudyConfig config = read_study_config(options.study);
  if (!options.device.empty()) {
    check_device_words(options.device, "--device");
    config.device = options.device;
  }
  if (options.threads > 0) config.threads = static_cast<int>(options.threads);
  if (!options.time_limit.empty()) {
    config.time_limit = parse_duration(options.time_limit, "--time-limit").count();
  }
  return config;
}

DeviceChoice study_devices(const StudyOptions& options, const StudyConfig& config) {
  DeviceChoice devices = choose_devices(
      config.device, config.engine,
      options.device.empty() ? options.study + ": run.device" : std::string("--device"));
  tell_device(devices);
  return devices;
}

StopToken study_stop(const StudyConfig& config) {
  std::optional<std::chrono::duration<double>> limit;
  if (config.time_limit) limit = std::chrono::duration<double>(*config.time_limit);
  return StopToken(limit);
}

std::filesystem::path study_folder(const StudyOptions& options, const StudyConfig& config) {
  return options.out.empty() ? std::filesystem::path("studies") / config.name
                             : std::filesystem::path(options.out);
}

void leave_report(const std::filesystem::path& folder) {
  const std::string why = plots_missing();
  const int status = why.empty() ? run_report_script(folder) : 0;
  if (!why.empty()) {
    fmt::print(stderr, "no plots, no report: {}\n", why);
  } else if (status != 0) {
    fmt::print(stderr, "no plots, no report: report.py ended with status {}\n", status);
  }
}

}  // namespace rewise

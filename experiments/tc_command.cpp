// `rewise tc`: critical temperatures of a study, with errors, shift, local exponents and plots.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "experiments/commands.hpp"
#include "experiments/device.hpp"
#include "experiments/options.hpp"
#include "experiments/python.hpp"
#include "experiments/tc_headline.hpp"
#include "experiments/tc_report.hpp"

namespace rewise {
namespace {

constexpr const char* kAbout =
    "Critical temperatures and their shift with p.\n\n"
    "Measures the critical temperature Tc(p) of rewired lattices: finds the temperature\n"
    "window by itself, simulates many graphs of several sizes there, and extrapolates\n"
    "where Binder's U and sqrt(N) m^2 of different sizes cross.";
constexpr const char* kExamples = R"(
STUDY.toml needs [lattice] dim, sizes and p; everything else has a default:

  [study]     name = "tc-2d"   seed = 1
  [lattice]   dim = 2   sizes = [32, 64, 128]   p = [0.0, 0.01, 0.1]   rule = "rewire"   graphs = 50
  [sampling]  engine = "bundle"   schedule = "auto"   replicas = 32   temperatures = "auto"
              equilibrate = "auto"   measure = "auto"   every = "auto"   target_error = 1e-3
              local = "auto"   cluster = "wolff"
  [run]       device = "auto"   threads = 0   checkpoint = "5min"   time_limit = "none"

(one key per line, or several lines: it is TOML.) p also takes {from, to, per_decade};
temperatures a list or {from, to, count}; local metropolis, glauber or
auto (glauber in one dimension); sizes edges or lists of extents; graphs one
number or one per size. At p = 0 the "graphs" are independent runs. device auto, cpu,
cuda, cuda:N, or cuda:0,1 and so on: one task at a time on each of these GPUs.

Results: DIR/study.toml (every default written out), DIR/tasks (one file per graph),
DIR/summary.json, DIR/summary.csv, DIR/plots. Running the same command again computes
only what is missing; SIGINT, SIGTERM or a time limit write checkpoints and end with
status 75. Several processes may work on the same DIR.

Example:
  rewise tc experiments/configs/quickstart.toml --out studies/quickstart)";

struct TcOptions {
  std::string study, out, device, time_limit;
  std::uint64_t threads = 0;
  bool plots = true;
};

StudyConfig configure(const TcOptions& options) {
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

void draw_plots(const std::filesystem::path& folder) {
  const std::string why = plots_missing();
  const int status = why.empty() ? run_plot_script({folder.string()}) : 0;
  if (!why.empty()) {
    fmt::print(stderr, "no plots: {}\n", why);
  } else if (status != 0) {
    fmt::print(stderr, "no plots: plot.py ended with status {}\n", status);
  }
}

ExitCode run_tc(const TcOptions& options) {
  const StudyConfig config = configure(options);
  check_tc_config(config, options.study);
  const DeviceChoice devices = choose_devices(
      config.device, config.engine,
      options.device.empty() ? options.study + ": run.device" : std::string("--device"));
  tell_device(devices);
  const auto begin = std::chrono::steady_clock::now();
  std::optional<std::chrono::duration<double>> limit;
  if (config.time_limit) limit = std::chrono::duration<double>(*config.time_limit);
  const StopToken stop(limit);

  const std::filesystem::path folder = options.out.empty()
                                           ? std::filesystem::path("studies") / config.name
                                           : std::filesystem::path(options.out);
  Study study(config, folder, devices.indices());
  Progress progress(config.name, 0);
  const auto points = search_tc(study, stop, progress);
  progress.close();
  const TcResult result = analyse_tc(config, points);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Json summary = tc_summary(config, points, result, seconds);
  write_text_file(folder / "summary.json", summary.dump(2) + "\n");
  write_text_file(folder / "summary.csv", tc_csv(config, points, result));
  fmt::print("{}", tc_headline(summary));
  std::fflush(stdout);
  if (options.plots) draw_plots(folder);
  fmt::print(stderr, "\n{} task(s) computed, {}; results in {}\n", study.computed(),
             duration_text(seconds), folder.string());
  return ExitCode::done;
}

}  // namespace

AddedCommand add_tc_command(CLI::App& program) {
  auto options = std::make_shared<TcOptions>();
  CLI::App& app = *program.add_subcommand("tc", kAbout);
  app.footer(kExamples);
  app.add_option("study", options->study, "the study's configuration")
      ->required()
      ->type_name("STUDY.toml");
  add_text(app, "--out", options->out, "DIR", "the study's folder [studies/NAME]");
  add_text(app, "--device", options->device, "DEVICE",
           "instead of run.device: auto, cpu, cuda, cuda:N, or\n"
           "cuda:0,1 and so on to deal the tasks out to several");
  add_whole(app, "--threads", options->threads, 0, 4096,
            "instead of run.threads; the numbers do not depend on it");
  add_text(app, "--time-limit", options->time_limit, "TIME", "instead of run.time_limit");
  app.add_flag("!--no-plots", options->plots, "do not draw plots");
  return {&app, [options] { return run_tc(*options); }};
}

}  // namespace rewise

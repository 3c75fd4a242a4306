// `rewise reproduce`: reproduces a figure of a paper and shows our results beside those of the
// paper, by analysis/rewise/reproduce.py. Python runs the program's other commands and compares
// their results with the paper; this file reads the options and chooses the device.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <limits>
#include <memory>

#include "experiments/console/commands.hpp"
#include "experiments/console/python.hpp"
#include "experiments/console/shared_options.hpp"
#include "src/base/words.hpp"
#include "src/settings/device_choice.hpp"
#include "src/settings/parse.hpp"
#include "src/store/signals.hpp"
#include "src/study/build_info.hpp"

namespace rewise {
namespace {

constexpr const char* kReproduceAbout =
    "Reproduce a figure or table of a paper.\n\n"
    "Example: rewise reproduce hawick-fig02\n\n"
    "Repeats a figure or table of Hawick, Leist & Playne (2010), Weigel (2011) or Komura & "
    "Okabe\n(2012, 2013), and draws the measured curves beside the numbers of the paper. For each "
    "claim\nof the paper, computed checks decide: agrees, disagrees or undecided (defined below "
    "the\nchecks), with the reason if it does not agree.\n"
    "Needs Python 3.11 with numpy, h5py and xxhash; with matplotlib it draws plots.";
constexpr const char* kReproduceExamples = R"(
Each figure is one file, experiments/configs/reproduce/NAME.toml; a file of the same form may
be given instead of a name. The scale quick takes about a minute on two cores, with smaller
lattices where needed; paper has the paper's sizes and needs a GPU. Every run is a command of
this program; its result is kept in DIR/runs. After a signal or --time-limit (status 75) the
same command continues with the next run. A changed configuration or kind of device starts anew.

More examples:
  rewise reproduce --list
  rewise reproduce hawick-fig12 --scale paper --out studies/fig12)";

struct ReproduceOptions {
  std::string name, scale = "quick", out, device = "auto", time_limit;
  std::uint64_t threads = 0;
  bool list = false, plots = true, json = false;
};

ExitCode run_reproduce(const ReproduceOptions& options) {
  std::vector<std::string> words{"--figures", configs_folder() / "reproduce"};
  if (options.list) {
    words.emplace_back("--list");
    return run_reproduce_script(std::move(words));
  }
  if (options.name.empty()) {
    throw Error(ExitCode::usage, "NAME is missing; see 'rewise reproduce --list'");
  }
  constexpr std::array<std::string_view, 2> scales{"quick", "paper"};
  parse_word(options.scale, scales, "scale", "--scale");
  const DeviceChoice device = choose_device(options.device, kDefaultEngine, "--device",
                                            std::numeric_limits<double>::infinity());
  words.insert(words.end(),
               {options.name, "--version", build_info().version, "--scale", options.scale,
                "--device", device.devices.front().name, "--device-reason", device.reason,
                "--threads", fmt::format("{}", options.threads)});
  const std::string name = std::filesystem::path(options.name).stem().string();
  const std::string out =
      options.out.empty() ? "studies/" + name + "-" + options.scale : options.out;
  words.insert(words.end(), {"--out", out});
  if (!options.time_limit.empty()) {
    if (const auto limit = parse_time_limit(options.time_limit, "--time-limit")) {
      words.insert(words.end(), {"--time-limit", number_text(limit->count())});
    }
  }
  if (options.json) words.emplace_back("--json");
  ExitCode status = run_reproduce_script(std::move(words));
  if (status != ExitCode::done) return status;
  std::vector<std::string> plots{out};
  if (options.json) plots.emplace_back("--quiet");
  if (options.plots) status = draw_plots(plots);
  fmt::print(stderr, "results in {}\n", out);
  return status;
}

}  // namespace

AddedCommand add_reproduce_command(CLI::App& program) {
  auto options = std::make_shared<ReproduceOptions>();
  CLI::App& app = add_command(program, "reproduce", kReproduceAbout, kReproduceExamples);
  add_optional_argument(app, "figure", options->name, "NAME|FILE.toml",
                        "a figure's name, or its file");
  add_flag(app, "--list", options->list, "name all figures, one line each");
  add_text(app, "--scale", options->scale, "WORD", "quick or paper");
  add_text(app, "--out", options->out, "DIR", "folder for the results [studies/NAME-SCALE]");
  add_text(app, "--device", options->device, "DEVICE", "auto, cpu, cuda or cuda:N");
  add_threads(app, options->threads, "0: choose automatically");
  add_key(app, "run.time_limit", options->time_limit);
  add_off_flag(app, "--no-plots", options->plots, "do not draw plots");
  add_flag(app, "--json", options->json, "print one JSON object, nothing else");
  return {&app, [options] { return run_reproduce(*options); }};
}

}  // namespace rewise

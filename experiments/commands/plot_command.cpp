// `rewise plot`: all plots of a study or a task file, drawn by analysis/rewise/plots/plot.py.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "experiments/console/commands.hpp"
#include "experiments/console/python.hpp"
#include "src/store/sealed_file.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace {

constexpr const char* kPlotAbout =
    "Draw a study, a run or curves.\n\n"
    "Example: rewise plot studies/quickstart\n\n"
    "Draws every plot that the data allow, as PNG and PDF, into the study's folder\n"
    "plots/ (or beside the file of a run). Needs Python 3 with matplotlib and h5py; the\n"
    "environment variable REWISE_PYTHON names another interpreter.";
constexpr const char* kPlotExamples = R"(
More examples:
  rewise plot t.h5                     time series and autocorrelations of a run
  rewise plot dec                      curves of decorrelate --out dec (or of another command))";

ExitCode run_plot(const std::string& target, const std::string& out) {
  const std::filesystem::path path(target);
  if (!file_exists(path)) {
    // The script also finds task files in the archives of a study.
    if (path.extension() != ".h5" || !file_exists(folder_of(path) / "../study.toml")) {
      throw Error(
          ExitCode::io,
          fmt::format("'{}' does not exist (a study's folder, or a file of 'rewise run --out')",
                      target));
    }
  } else if (path.extension() == ".h5" && !folder_exists(path)) {
    std::uint64_t length = 0;
    const SealedRead read = check_sealed(path, length);
    if (read.state != SealState::good) {
      throw Error(ExitCode::data, fmt::format("'{}': {}", target, read.problem));
    }
  } else if (!folder_exists(path) && path.extension() != ".json") {
    const bool graph = path.extension() == ".edges" || path.extension() == ".graphml";
    throw Error(
        ExitCode::data,
        fmt::format("'{}' cannot be plotted{} (plot takes a study's folder, a folder of "
                    "curves, a file of 'rewise run --out' or of 'rewise tune --out')",
                    target,
                    graph ? fmt::format(": it is a network; 'rewise graph --from {}' prints "
                                        "its metrics",
                                        target)
                          : ""));
  }
  std::vector<std::string> arguments{target};
  if (!out.empty()) arguments.insert(arguments.end(), {"--out", out});
  return run_plot_script(arguments);
}

}  // namespace

AddedCommand add_plot_command(CLI::App& program) {
  auto target = std::make_shared<std::string>();
  auto out = std::make_shared<std::string>();
  CLI::App& app = add_command(program, "plot", kPlotAbout, kPlotExamples);
  add_argument(app, "what", *target, "DIR|FILE",
               "a study's folder, a file of 'rewise run --out' or 'rewise\ntune --out', or a "
               "folder of curves");
  add_text(app, "--out", *out, "DIR", "folder for the plots");
  return {&app, [target, out] { return run_plot(*target, *out); }};
}

}  // namespace rewise

// `rewise report`: plots and report.html of a study, written by analysis/rewise/plots/report.py.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "experiments/console/commands.hpp"
#include "experiments/console/python.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace {

constexpr const char* kReportAbout =
    "Write a study's report.html again.\n\n"
    "Example: rewise report studies/quickstart\n\n"
    "Draws the plots of a sweep or tc study again and writes DIR/report.html, one page "
    "with\nnumbers, plots, checks of equilibrium, the origin of the numbers and how to repeat "
    "them.\nNeeds Python 3 with matplotlib and h5py.";

ExitCode run_report(const std::string& folder) {
  if (!folder_exists(folder)) {
    throw Error(ExitCode::io, fmt::format("'{}' is not the folder of a study", folder));
  }
  const ExitCode status = run_report_script(folder);
  if (status == ExitCode::done)
    fmt::print("{}\n", (std::filesystem::path(folder) / "report.html").string());
  return status;
}

}  // namespace

AddedCommand add_report_command(CLI::App& program) {
  auto folder = std::make_shared<std::string>();
  CLI::App& app = add_command(program, "report", kReportAbout, "");
  add_argument(app, "folder", *folder, "DIR", "a study's folder");
  return {&app, [folder] { return run_report(*folder); }};
}

}  // namespace rewise

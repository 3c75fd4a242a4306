// Calls scripts of analysis/rewise with the Python that was found at configure time or that
// REWISE_PYTHON names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/error.hpp"

namespace rewise {

// Runs plot.py with these arguments; it shares standard output and error. Returns its exit status,
// after it has printed the reason. Throws Error(io) if it cannot be started, Error(interrupted)
// after a stop signal, Error(internal) if it ended in any other way.
ExitCode run_plot_script(const std::vector<std::string>& arguments);
// The same for report.py, which draws a study and writes its report.html.
ExitCode run_report_script(const std::filesystem::path& folder);

// The same for analysis/rewise/reproduce.py, which runs this program's commands.
ExitCode run_reproduce_script(std::vector<std::string> arguments);

// The same at the end of another command: one line on standard error says why it failed. Returns io
// if files could not be written, interrupted after a stop signal, otherwise done, also if Python or
// matplotlib are missing.
ExitCode draw_plots(const std::vector<std::string>& arguments);
ExitCode draw_report(const std::filesystem::path& folder);

}  // namespace rewise

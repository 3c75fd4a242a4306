// Calls scripts of analysis/rewise with the Python that was found at configure time or that
// REWISE_PYTHON names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/error.hpp"

namespace rewise {

// Why plots cannot be drawn here; "" if they can. Starts Python once to look for matplotlib, which
// is for `info`: the scripts below say themselves what they lack, in the one process that they are.
std::string plots_missing();

// Runs plot.py with these arguments; its output goes where ours goes. Returns its exit status,
// whose reason it has printed. Error(io) if it cannot be started, Error(interrupted) if it or this
// process was told to stop, Error(internal) if it ended in any other way.
ExitCode run_plot_script(const std::vector<std::string>& arguments);
// The same for report.py, which draws a study and writes its report.html.
ExitCode run_report_script(const std::filesystem::path& folder);

// The same for analysis/rewise/reproduce.py, which runs this program's commands.
ExitCode run_reproduce_script(std::vector<std::string> arguments);

// The same at the end of another command: where it fails, one line on standard error says why.
// Returns io where files could not be written, interrupted where it was told to stop, else done:
// plots are not drawn where Python or matplotlib are missing.
ExitCode draw_plots(const std::vector<std::string>& arguments);
ExitCode leave_report(const std::filesystem::path& folder);

}  // namespace rewise

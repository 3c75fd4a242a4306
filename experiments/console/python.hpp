// Calls the Python plots: analysis/rewise/plots/plot.py, with the interpreter found at configure
// time or named by REWISE_PYTHON.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rewise {

// Why plots cannot be drawn here; "" if they can. Starts Python once to look for matplotlib, which
// is for `info`: the scripts below say themselves what they lack, in the one process that they are.
std::string plots_missing();

// Runs plot.py with these arguments, its output going where ours goes; returns its exit status.
// Error(io) if it cannot be started.
int run_plot_script(const std::vector<std::string>& arguments);
// The same for report.py, which draws a study and writes its report.html.
int run_report_script(const std::filesystem::path& folder);

// The same at the end of another command: where it fails, one line on standard error says why.
void draw_plots(const std::vector<std::string>& arguments);
void leave_report(const std::filesystem::path& folder);

}  // namespace rewise

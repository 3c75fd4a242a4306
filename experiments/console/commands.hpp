// The subcommands of `rewise`. Each file declares its options (with help that a stranger
// understands) on its own CLI11 subcommand and returns what runs when it was chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "src/base/error.hpp"

namespace rewise {

using Command = std::function<ExitCode()>;

struct AddedCommand {
  CLI::App* app;
  Command run;
};

AddedCommand add_graph_command(CLI::App& program);
AddedCommand add_run_command(CLI::App& program);
AddedCommand add_sweep_command(CLI::App& program);
AddedCommand add_tc_command(CLI::App& program);
AddedCommand add_study_command(CLI::App& program);
AddedCommand add_tune_command(CLI::App& program);
AddedCommand add_plot_command(CLI::App& program);
AddedCommand add_report_command(CLI::App& program);
AddedCommand add_bench_command(CLI::App& program);
AddedCommand add_decorrelate_command(CLI::App& program);
AddedCommand add_equilibrate_command(CLI::App& program);
AddedCommand add_clusters_command(CLI::App& program);
AddedCommand add_reproduce_command(CLI::App& program);
AddedCommand add_label_command(CLI::App& program);
AddedCommand add_percolate_command(CLI::App& program);
AddedCommand add_info_command(CLI::App& program);

// Help in one look on every version of CLI11: defaults in brackets, one line per subcommand (the
// first of its description).
class Help : public CLI::Formatter {
 public:
  Help() { column_width(32); }
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* sub) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
};

// Error(usage) when an option that describes a lattice was given beside one that names a file.
void refuse_beside(const CLI::App& app, const std::string& file_option,
                   const std::vector<std::string>& others);

// A whole number with checked range; the default is shown in the help.
CLI::Option* add_whole(CLI::App& app, const std::string& name, std::uint64_t& value,
                       std::uint64_t least, std::uint64_t most, const std::string& help);
// A text option whose default, if any, is shown in the help.
CLI::Option* add_text(CLI::App& app, const std::string& name, std::string& value,
                      const std::string& type, const std::string& help);

// --profile: where the time goes, into a file that is written when the command ends, however it
// does, with one line on standard error. Error(held) where the file exists.
void add_profile_option(CLI::App& app);
void write_profile();  // nothing where none was asked for

inline constexpr std::uint64_t kMostSeed = std::numeric_limits<std::uint64_t>::max();

}  // namespace rewise

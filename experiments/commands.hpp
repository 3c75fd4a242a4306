// The subcommands of `rewise`. Each file declares its options (with help that a stranger
// understands) on its own CLI11 subcommand and returns what runs when it was chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "src/base/error.hpp"

namespace rewise {

using Command = std::function<ExitCode()>;

struct AddedCommand {
  CLI::App* app;
  Command run;
};

AddedCommand add_graph_command(CLI::App& program);
AddedCommand add_run_command(CLI::App& program);
AddedCommand add_tc_command(CLI::App& program);
AddedCommand add_plot_command(CLI::App& program);
AddedCommand add_info_command(CLI::App& program);

// A whole number with checked range; the default is shown in the help.
CLI::Option* add_whole(CLI::App& app, const std::string& name, std::uint64_t& value,
                       std::uint64_t least, std::uint64_t most, const std::string& help);
// A text option whose default, if any, is shown in the help.
CLI::Option* add_text(CLI::App& app, const std::string& name, std::string& value,
                      const std::string& type, const std::string& help);

inline constexpr std::uint64_t kMostSeed = std::numeric_limits<std::uint64_t>::max();

}  // namespace rewise

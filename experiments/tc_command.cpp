#include "experiments/commands.hpp"

namespace rewise {

AddedCommand add_tc_command(CLI::App& program) {
  CLI::App& app = *program.add_subcommand("tc", "Critical temperatures");
  return {&app, [] { return ExitCode::done; }};
}

}  // namespace rewise

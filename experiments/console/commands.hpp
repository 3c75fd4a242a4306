// Helpers for the subcommands of `rewise`, which program.cpp lists. The file of a subcommand
// declares its options and their help on a CLI11 subcommand, and returns the function to run if it
// was chosen. These helpers wrap CLI11, whose header takes seconds to compile, so that only three
// files of this folder include it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "src/base/error.hpp"

namespace CLI {
class App;
}

namespace rewise {

using Command = std::function<ExitCode()>;

struct AddedCommand {
  CLI::App* app;
  Command run;
};

// `about` is the head of --help: a title, an example, what the command does. `more` is its end.
CLI::App& add_command(CLI::App& program, const char* name, const std::string& about,
                      const std::string& more);
void hide(CLI::App& command);  // leaves it out of the list in --help
// The section of --help for the options added after this call.
void begin_group(CLI::App& app, const char* name);

void add_flag(CLI::App& app, const char* name, bool& value, const std::string& help);
// A flag that switches something off.
void add_off_flag(CLI::App& app, const char* name, bool& value, const std::string& help);
// A positional argument.
void add_argument(CLI::App& app, const char* name, std::string& value, const char* type,
                  const std::string& help);
void add_optional_argument(CLI::App& app, const char* name, std::string& value, const char* type,
                           const std::string& help);
void exclude(CLI::App& app, const char* option, const char* other);
void require(CLI::App& app, const char* option, const char* other);  // `option` needs `other`
bool is_given(const CLI::App& app, const std::string& option);
// The names of the subcommands with this option.
std::vector<std::string> commands_with(const CLI::App& program, const std::string& option);
// The default of an option that the command has; "" if there is none.
std::string option_default(const CLI::App& program, const std::string& command,
                           const std::string& option);
// The --help text of a subcommand; "" if there is no such subcommand.
std::string help_of(const CLI::App& program, const std::string& command);

// Throws Error(usage) if one of `others`, which describe a lattice, was given together with the
// file.
void reject_beside(const CLI::App& app, const std::string& file_option,
                   const std::vector<std::string>& others);

// An integer option with a range; the help shows the default.
void add_integer(CLI::App& app, const std::string& name, std::uint64_t& value, std::uint64_t min,
                 std::uint64_t max, const std::string& help);
// --threads: 0 chooses automatically; more threads than cores give a warning.
void add_threads(CLI::App& app, std::uint64_t& value, const std::string& help);
void warn_beyond_cores(std::uint64_t threads, const char* origin);
// A text option; the help shows the default, if any.
void add_text(CLI::App& app, const std::string& name, std::string& value, const std::string& type,
              const std::string& help);

inline constexpr std::uint64_t kMaxSeed = std::numeric_limits<std::uint64_t>::max();

}  // namespace rewise

// The subcommands of `rewise`. Each file declares its options (with help that a stranger
// understands) on its own CLI11 subcommand and returns what runs when it was chosen. program.cpp
// lists them. What they need of CLI11 is here, so that its header, seconds of every compilation, is
// read in two files only.
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
void hide(CLI::App& command);  // from the list in --help
// Where --help lists the options that are added from here on, or these.
void begin_group(CLI::App& app, const char* name);
void move_to_group(CLI::App& app, const char* group, const std::vector<std::string>& options);

void add_flag(CLI::App& app, const char* name, bool& value, const std::string& help);
// One that takes away.
void add_off_flag(CLI::App& app, const char* name, bool& value, const std::string& help);
// One that is known by its place.
void add_argument(CLI::App& app, const char* name, std::string& value, const char* type,
                  const std::string& help, bool required = true);
void exclude(CLI::App& app, const char* option, const char* other);
void require(CLI::App& app, const char* option, const char* other);  // beside it
bool is_given(const CLI::App& app, const std::string& option);
// Names of the subcommands that have an option.
std::vector<std::string> commands_with(const CLI::App& program, const std::string& option);
// The --help of a subcommand; "" if there is none of that name.
std::string help_of(const CLI::App& program, const std::string& command);

// Error(usage) when an option that describes a lattice was given beside one that names a file.
void refuse_beside(const CLI::App& app, const std::string& file_option,
                   const std::vector<std::string>& others);

// A whole number with checked range; the default is shown in the help.
void add_whole(CLI::App& app, const std::string& name, std::uint64_t& value, std::uint64_t least,
               std::uint64_t most, const std::string& help);
// --threads, 0 for as many as help; more than there are cores are warned of.
void add_threads(CLI::App& app, std::uint64_t& value, const std::string& help);
void warn_beyond_cores(std::uint64_t threads, const char* origin);
// A text option whose default, if any, is shown in the help.
void add_text(CLI::App& app, const std::string& name, std::string& value, const std::string& type,
              const std::string& help);

// --profile: where the time goes, into a file that is written when the command ends, however it
// does, with one line on standard error. Error(held) where the file exists.
void add_profile_option(CLI::App& app);
void write_profile();  // nothing where none was asked for

inline constexpr std::uint64_t kMostSeed = std::numeric_limits<std::uint64_t>::max();

}  // namespace rewise

// Messages for command lines that CLI11 cannot parse, with suggestions.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace rewise {

// The text for an error that program.parse() has thrown; names the command whose --help explains
// more.
std::string parse_error_text(const CLI::App& program, const CLI::ParseError& error);

// Throws Error(usage) for an unknown subcommand; CLI11 would only say that one is required.
void check_subcommand(const CLI::App& program, int argc, char** argv);

// Replaces line breaks by blanks.
std::string one_line(std::string text);

}  // namespace rewise

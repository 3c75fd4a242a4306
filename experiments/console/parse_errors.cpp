#include "experiments/console/parse_errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.hpp"
#include "src/base/words.hpp"
#include "src/settings/schema.hpp"
#include "src/settings/unknown_names.hpp"

namespace rewise {
namespace {

// "unknown option '--T' (did you mean '--temperature'?)" for the first argument that is not
// understood.
std::string unexpected_argument_text(const CLI::App& program, const CLI::App& command) {
  const bool before = !program.remaining().empty();  // before the subcommand, or there is none
  const CLI::App& app = before ? program : command;
  const std::vector<std::string> extras = app.remaining();
  const auto option = std::find_if(extras.begin(), extras.end(), [](const std::string& text) {
    return text.size() > 1 && text[0] == '-' && !std::isdigit(static_cast<unsigned char>(text[1]));
  });
  const bool reads_study = app.get_name() == "tc" || app.get_name() == "sweep";
  if (option == extras.end()) {
    if (!reads_study && !extras.empty() && extras.front().ends_with(".toml")) {
      return fmt::format("'{0}' is the file of a study: use 'rewise tc {0}' or 'rewise sweep {0}'",
                         extras.front());
    }
    return fmt::format("unexpected argument '{}' ({})", extras.empty() ? "" : extras.front(),
                       app.get_name() == "help" ? "put a word with blanks in quotes"
                                                : "write lists as 1,2,3, without blanks");
  }
  std::vector<std::string> names;
  for (const auto* known : app.get_options()) {
    for (const auto& name : known->get_lnames()) names.push_back(name);
  }
  std::string advice =
      option_advice(*option, std::vector<std::string_view>(names.begin(), names.end()),
                    reads_study ? study_keys() : std::vector<KeyTable>{});
  if (advice.empty() && before) advice = "put the options of a subcommand after its name";
  return fmt::format("unknown option '{}'{}", option->substr(0, option->find('=')),
                     advice.empty() ? "" : " (" + advice + ")");
}

// Replaces messages of CLI11 that are hard to understand: "--x: At Most 1 required but received 2",
// "--x: 1 required N missing", "study is required", "--a excludes --b".
std::string clearer_text(const CLI::App& app, const std::string& message) {
  const auto before = [&](std::string_view words) -> std::optional<std::string> {
    const auto at = message.find(words);
    return at == std::string::npos ? std::nullopt : std::optional(message.substr(0, at));
  };
  if (const auto option = before(": At Most 1 required but received ")) {
    return *option + ": was given more than once";
  }
  if (const auto option = before(": 1 required ")) {
    const auto* found = app.get_option_no_throw(*option);
    const std::string type = found == nullptr ? "" : found->get_type_name();
    return fmt::format("{}: its value {} is missing", *option, type);
  }
  if (const auto name = before(" is required")) {
    const auto* found = app.get_option_no_throw(*name);
    if (found == nullptr) return message;
    return fmt::format("{} is missing ({})", found->get_type_name(), found->get_description());
  }
  if (const auto option = before(" excludes ")) {
    return fmt::format("{} and {} exclude each other", *option,
                       message.substr(option->size() + std::string_view(" excludes ").size()));
  }
  return message;
}

}  // namespace

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::string parse_error_text(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App* app = &program;
  for (auto chosen = program.get_subcommands(); !chosen.empty();) {
    app = chosen.front();
    chosen = app->get_subcommands();
  }
  const std::string name = app == &program ? "rewise" : "rewise " + app->get_name();
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                     !program.remaining().empty();  // else CLI11 reports "A subcommand is required"
  return fmt::format(
      "{}; see '{} --help'",
      extra ? unexpected_argument_text(program, *app) : clearer_text(*app, one_line(error.what())),
      name);
}

void check_subcommand(const CLI::App& program, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> known;
  for (const auto* sub : program.get_subcommands({})) known.push_back(sub->get_name());
  if (std::ranges::find(known, argv[1]) != known.end()) return;
  std::string advice;
  if (const auto nearest =
          nearest_word(argv[1], std::vector<std::string_view>(known.begin(), known.end()));
      !nearest.empty()) {
    advice = fmt::format("did you mean '{}'?", nearest);
  } else {
    std::erase_if(known, [&](const std::string& name) {  // hidden subcommands
      return program.get_subcommand(name)->get_group().empty();
    });
    advice = fmt::format("known: {}", fmt::join(known, ", "));
  }
  throw Error(ExitCode::usage,
              fmt::format("unknown subcommand '{}' ({}); see 'rewise --help'", argv[1], advice));
}

}  // namespace rewise

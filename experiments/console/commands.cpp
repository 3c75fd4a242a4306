#include "experiments/console/commands.hpp"

#include <fmt/format.h>

#include "experiments/console/options.hpp"
#include "src/base/profile.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace {

std::string& profile_file() {
  static std::string file;
  return file;
}

}  // namespace

std::string Help::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return "";  // a flag
  std::string text = " " + option->get_type_name();
  if (!option->get_default_str().empty()) text += " [" + option->get_default_str() + "]";
  return text;
}

std::string Help::make_subcommand(const CLI::App* sub) const {
  const std::string about = sub->get_description();
  return fmt::format("  {:<{}}{}\n", sub->get_name(), get_column_width() - 2,
                     about.substr(0, about.find('\n')));
}

std::string Help::make_usage(const CLI::App* app, std::string name) const {
  return "\n" + CLI::Formatter::make_usage(app, std::move(name));
}

void refuse_beside(const CLI::App& app, const std::string& file_option,
                   const std::vector<std::string>& others) {
  if (app.count(file_option) == 0) return;
  for (const auto& other : others) {
    if (app.count(other) == 0) continue;
    throw Error(
        ExitCode::usage,
        fmt::format("{} and {} exclude each other (a graph is read or built)", file_option, other));
  }
}

CLI::Option* add_whole(CLI::App& app, const std::string& name, std::uint64_t& value,
                       std::uint64_t least, std::uint64_t most, const std::string& help) {
  const auto read = [&value, name, least, most](const std::string& text) {
    value = parse_whole(text, least, most, name);
  };
  return app.add_option_function<std::string>(name, read, help)
      ->type_name("N")
      ->default_str(fmt::format("{}", value));
}

CLI::Option* add_text(CLI::App& app, const std::string& name, std::string& value,
                      const std::string& type, const std::string& help) {
  auto* option = app.add_option(name, value, help)->type_name(type);
  if (!value.empty()) option->default_str(value);
  return option;
}

void add_profile_option(CLI::App& app) {
  const auto begin = [](const std::string& file) {
    if (file_exists(file)) {
      throw Error(ExitCode::held, fmt::format("--profile: '{}' exists already", file));
    }
    profile_file() = file;
    profile::start();
  };
  app.add_option_function<std::string>("--profile", begin,
                                       "where the time goes: a trace for ui.perfetto.dev")
      ->type_name("FILE");
}

void write_profile() {
  if (profile_file().empty()) return;
  write_text_file(profile_file(), profile::chrome_trace());
  fmt::print(stderr, "profile: {}; written to {}\n", profile::summary(), profile_file());
}

}  // namespace rewise

#include "experiments/console/commands.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>

#include "src/base/count_text.hpp"
#include "src/settings/parse.hpp"
#include "src/store/sealed_file.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
CLI::App& add_command(CLI::App& program, const char* name, const std::string& about,
                      const std::string& more) {
  return *program.add_subcommand(name, about)->footer(more);
}
void hide(CLI::App& command) { command.group(""); }
void begin_group(CLI::App& app, const char* name) { app.option_defaults()->group(name); }
void add_flag(CLI::App& app, const char* name, bool& value, const std::string& help) {
  app.add_flag(name, value, help);
}
void add_off_flag(CLI::App& app, const char* name, bool& value, const std::string& help) {
  app.add_flag_callback(
      name, [&value] { value = false; }, help);
}
void add_argument(CLI::App& app, const char* name, std::string& value, const char* type,
                  const std::string& help) {
  app.add_option(name, value, help)->required()->type_name(type);
}
void add_optional_argument(CLI::App& app, const char* name, std::string& value, const char* type,
                           const std::string& help) {
  app.add_option(name, value, help)->type_name(type);
}
void exclude(CLI::App& app, const char* option, const char* other) {
  app.get_option(option)->excludes(app.get_option(other));
}
void require(CLI::App& app, const char* option, const char* other) {
  app.get_option(option)->needs(app.get_option(other));
}
bool is_given(const CLI::App& app, const std::string& option) { return app.count(option) > 0; }

std::vector<std::string> commands_with(const CLI::App& program, const std::string& option) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands({})) {
    if (command->get_option_no_throw(option) != nullptr) names.push_back(command->get_name());
  }
  return names;
}

std::string option_default(const CLI::App& program, const std::string& command,
                           const std::string& option) {
  return program.get_subcommand(command)->get_option(option)->get_default_str();
}

std::string help_of(const CLI::App& program, const std::string& command) {
  for (const CLI::App* one : program.get_subcommands({})) {
    if (one->get_name() == command) return one->help(program.get_name());
  }
  return "";
}

void reject_beside(const CLI::App& app, const std::string& file_option,
                   const std::vector<std::string>& others) {
  if (app.count(file_option) == 0) return;
  for (const auto& other : others) {
    if (app.count(other) == 0) continue;
    throw Error(ExitCode::usage,
                fmt::format("{} and {} exclude each other (a graph is either read or built)",
                            file_option, other));
  }
}

void add_integer(CLI::App& app, const std::string& name, std::uint64_t& value, std::uint64_t min,
                 std::uint64_t max, const std::string& help) {
  const auto read = [&value, name, min, max](const std::string& text) {
    value = parse_whole(text, min, max, name);
  };
  app.add_option_function<std::string>(name, read, help)
      ->type_name("N")
      ->default_str(fmt::format("{}", value));
}

void warn_beyond_cores(std::uint64_t threads, const char* origin) {
  const auto cores = static_cast<std::uint64_t>(omp_get_num_procs());  // that this process may use
  if (threads <= cores) return;
  fmt::print(stderr,
             "warning: {}: {} threads on {} wait for each other, which is much slower "
             "than {}\n",
             origin, threads, count_text(cores, "core"), count_text(cores, "thread"));
}

void add_threads(CLI::App& app, std::uint64_t& value, const std::string& help) {
  const auto read = [&value](const std::string& text) {
    value = parse_whole(text, 0, 4096, "--threads");
    warn_beyond_cores(value, "--threads");
  };
  app.add_option_function<std::string>("--threads", read, help)->type_name("N")->default_str("0");
}

void add_text(CLI::App& app, const std::string& name, std::string& value, const std::string& type,
              const std::string& help) {
  auto* option = app.add_option(name, value, help)->type_name(type);
  if (!value.empty()) option->default_str(value);
}

}  // namespace rewise

#include "experiments/console/program.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "experiments/console/commands.hpp"
#include "experiments/console/parse_errors.hpp"
#include "experiments/console/process.hpp"
#include "src/store/signals.hpp"
#include "src/study/build_info.hpp"

namespace rewise {

// Defined in experiments/commands.
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
AddedCommand add_time_updates_command(CLI::App& program);
AddedCommand add_label_command(CLI::App& program);
AddedCommand add_info_command(CLI::App& program);
AddedCommand add_help_command(CLI::App& program);

namespace {

// A help format that does not depend on the version of CLI11: defaults in brackets, one line per
// subcommand (the first line of its description).
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(32); }
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* sub) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
};

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return "";  // a flag
  std::string text = " " + option->get_type_name();
  if (!option->get_default_str().empty()) text += " [" + option->get_default_str() + "]";
  return text;
}

std::string HelpFormatter::make_subcommand(const CLI::App* sub) const {
  const std::string about = sub->get_description();
  return fmt::format("  {:<{}}{}\n", sub->get_name(), get_column_width() - 2,
                     about.substr(0, about.find('\n')));
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  return "\n" + CLI::Formatter::make_usage(app, std::move(name));
}

constexpr const char* kAbout =
    "Ising and Potts spins on small-world lattices: rewired networks, Monte Carlo runs,\n"
    "critical temperatures. J = 1 and k_B = 1 throughout.\n";

std::string examples() {
  return fmt::format(R"(
Examples:
  rewise graph --size 64 --p 0.01                    builds a network and prints its metrics
  rewise run --size 64 --p 0.01 --temperature 2.4    simulates it at a temperature
  rewise tc {}
                                                     measures Tc(p) and draws plots
)",
                     shipped_config("quickstart.toml"));
}

constexpr const char* kMoreHelp = R"(
rewise --help              all commands
rewise COMMAND --help      one command: an example, then its options with [defaults]
rewise help [KEY]          the keys of a study's file, or one of them
README.md                  first steps, and a list of the guides
)";

constexpr const char* kExitStatus = R"(
Exit status: 0 done, with or without a value ("-"); 64 command line or configuration; 65
damaged or unsuitable input data; 69 no such device, or too little memory; 70 a defect of
rewise; 73 a result is held by another process or would be overwritten; 74 input/output; 75
interrupted: run, tc, sweep and reproduce continue when run again, other commands lose
unfinished work and say so.)";

int fail(ExitCode code, const std::string& message) {
  fmt::print(stderr, "rewise: {}\n", one_line(message));
  return static_cast<int>(code);
}

// A stop signal ends the other commands at once.
bool handles_stop_signals(const std::string& command) {
  constexpr std::array<std::string_view, 4> others{"graph", "label", "info", "help"};
  return std::ranges::find(others, command) == others.end();
}

int run_command(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "{}{}{}", kAbout, examples(), kMoreHelp);
    return static_cast<int>(ExitCode::usage);
  }
  if (handles_stop_signals(argv[1])) install_stop_signals();
  release_stop_signals();
  CLI::App program{kAbout, "rewise"};
  program.set_version_flag("--version", "rewise " + build_info().version, "print the version");
  program.set_help_flag("-h,--help", "print this help");
  program.formatter(std::make_shared<HelpFormatter>());
  program.footer(examples() + kExitStatus);
  program.require_subcommand(1);
  const std::vector<AddedCommand> commands{
      add_graph_command(program),       add_run_command(program),
      add_sweep_command(program),       add_tc_command(program),
      add_study_command(program),       add_tune_command(program),
      add_plot_command(program),        add_report_command(program),
      add_decorrelate_command(program), add_equilibrate_command(program),
      add_clusters_command(program),    add_reproduce_command(program),
      add_bench_command(program),       add_label_command(program),
      add_info_command(program),        add_time_updates_command(program),
      add_help_command(program)};
  check_subcommand(program, argc, argv);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return program.exit(asked);
  } catch (const CLI::ParseError& error) {
    return fail(ExitCode::usage, parse_error_text(program, error));
  }
  for (const auto& command : commands) {
    if (command.app->parsed()) return static_cast<int>(command.run());
  }
  return static_cast<int>(ExitCode::internal);
}

// Prints the current exception as one line on standard error and returns the exit status.
int report_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return fail(error.exit_code(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(ExitCode::device, "not enough memory on this machine for the requested work");
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(ExitCode::io, fmt::format("cannot read or change '{}': {}", error.path1().string(),
                                          error.code().message()));
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return fail(ExitCode::io, "standard output could not be written");
    if (error.code() == std::errc::resource_unavailable_try_again) {
      return fail(ExitCode::device,
                  fmt::format("cannot start another thread (a limit on memory or processes): {}",
                              error.code().message()));
    }
    return fail(ExitCode::internal, fmt::format("internal error: {}", error.what()));
  } catch (const std::exception& error) {
    return fail(ExitCode::internal, fmt::format("internal error: {}", error.what()));
  }
}

}  // namespace

int program_main(int argc, char** argv) {
  prepare_process();
  int status = 0;
  try {
    require_address_space();
    status = run_command(argc, argv);
  } catch (...) {
    try {
      return report_failure();
    } catch (...) {  // out of memory while formatting the message
      std::fputs("rewise: not enough memory\n", stderr);
      return static_cast<int>(ExitCode::device);
    }
  }
  // A full disk or a closed pipe must not look like success.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return fail(ExitCode::io, "standard output could not be written");
  }
  return status;
}

}  // namespace rewise

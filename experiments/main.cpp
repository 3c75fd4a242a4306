// `rewise`: reads the command line, runs a subcommand, turns what happened into an exit status
// (sysexits.h, DESIGN.md section 9) and one line on standard error. Nothing else calls exit.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/build_info.hpp"
#include "experiments/commands.hpp"
#include "src/base/words.hpp"
#include "src/store/signals.hpp"

namespace {

using namespace rewise;

constexpr const char* kFooter = R"(
Examples:
  rewise graph --dim 2 --size 64 --p 0.01          what a rewired lattice looks like
  rewise run --dim 2 --size 64 --p 0.01 --temperature 2.3,2.4
  rewise sweep experiments/configs/sweep.toml      thermal averages on a grid
  rewise tc experiments/configs/quickstart.toml    critical temperatures, with plots

Exit status: 0 done; 64 command line or configuration; 65 damaged or unfit input data;
69 no such device; 70 a defect of rewise; 73 a result is held by another process or would
be overwritten; 74 input/output; 75 interrupted, checkpoint written: run it again.)";

// " (did you mean 'x'?)" for the known word nearest to what was typed, or "".
std::string hint(const std::string& typed, const std::vector<std::string>& known) {
  const std::vector<std::string_view> words(known.begin(), known.end());
  const auto nearest = nearest_word(typed, words);
  return nearest.empty() || nearest == typed ? "" : fmt::format(" (did you mean '{}'?)", nearest);
}

// The long option nearest to the one that a message complains about.
std::string option_hint(const CLI::App& app, const std::string& message) {
  const auto dash = message.find("--");
  if (dash == std::string::npos) return "";
  std::vector<std::string> known;
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  }
  return hint(message.substr(dash, message.find_first_of(" =\"", dash) - dash), known);
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

int fail(ExitCode code, const std::string& message) {
  fmt::print(stderr, "rewise: {}\n", one_line(message));
  return static_cast<int>(code);
}

// "--x: At Most 1 required but received 2" says nothing to a stranger.
std::string in_our_words(const std::string& message) {
  const auto at = message.find(": At Most 1 required but received ");
  return at == std::string::npos ? message : message.substr(0, at) + ": is given twice or more";
}

int parse_failure(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App* app = &program;
  for (auto chosen = program.get_subcommands(); !chosen.empty();) {
    app = chosen.front();
    chosen = app->get_subcommands();
  }
  const std::string name = app == &program ? "rewise" : "rewise " + app->get_name();
  const std::string guess = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr
                                ? option_hint(*app, error.what())
                                : "";
  return fail(ExitCode::usage, fmt::format("{}{}; see '{} --help'",
                                           in_our_words(one_line(error.what())), guess, name));
}

// A first word that is no subcommand: CLI11 would only say that one is required.
void check_subcommand(const CLI::App& program, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> known;
  for (const auto* sub : program.get_subcommands({})) known.push_back(sub->get_name());
  if (std::find(known.begin(), known.end(), argv[1]) != known.end()) return;
  throw Error(ExitCode::usage, fmt::format("unknown subcommand '{}'{}; see 'rewise --help'",
                                           argv[1], hint(argv[1], known)));
}

// Whether a command looks for signals between its steps; one ends the others at once.
bool heeds_signals(const std::string& command) {
  constexpr std::array<std::string_view, 5> plain{"graph", "label", "plot", "report", "info"};
  return std::find(plain.begin(), plain.end(), command) == plain.end();
}

int run(int argc, char** argv) {
  CLI::App program{
      "Ising spins on small-world lattices: rewired networks, Monte Carlo runs,\n"
      "critical temperatures. J = 1 and k_B = 1 throughout.",
      "rewise"};
  program.set_version_flag("--version", "rewise " + build_info().version, "print the version");
  program.set_help_flag("-h,--help", "print this help");
  program.formatter(std::make_shared<Help>());
  program.footer(kFooter);
  program.require_subcommand(1);
  const std::vector<AddedCommand> commands{
      add_graph_command(program),       add_run_command(program),
      add_sweep_command(program),       add_tc_command(program),
      add_tune_command(program),        add_plot_command(program),
      add_report_command(program),      add_decorrelate_command(program),
      add_equilibrate_command(program), add_clusters_command(program),
      add_reproduce_command(program),   add_bench_command(program),
      add_label_command(program),       add_percolate_command(program),
      add_info_command(program)};
  check_subcommand(program, argc, argv);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return program.exit(asked);
  } catch (const CLI::ParseError& error) {
    return parse_failure(program, error);
  }
  for (const auto& command : commands) {
    if (!command.app->parsed()) continue;
    if (heeds_signals(command.app->get_name())) install_stop_signals();
    return static_cast<int>(command.run());
  }
  return static_cast<int>(ExitCode::internal);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write()
  int status = 0;
  try {
    status = run(argc, argv);
  } catch (const Error& error) {
    return fail(error.exit_code(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(ExitCode::device, "not enough memory on this machine for what was asked");
  } catch (const std::exception& error) {
    return fail(ExitCode::internal, fmt::format("internal error: {}", error.what()));
  }
  // A full disk or a closed pipe must not look like success.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return fail(ExitCode::io, "standard output could not be written");
  }
  return status;
}

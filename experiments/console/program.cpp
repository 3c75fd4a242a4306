#include "experiments/console/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "experiments/console/commands.hpp"
#include "src/base/words.hpp"
#include "src/settings/schema.hpp"
#include "src/settings/unknown_names.hpp"
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
class Help : public CLI::Formatter {
 public:
  Help() { column_width(32); }
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* sub) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
};

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

constexpr const char* kWhereToGo = R"(
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

// " (did you mean 'x'?)" with the nearest known word, or "".
std::string hint(const std::string& typed, const std::vector<std::string>& known) {
  const std::vector<std::string_view> words(known.begin(), known.end());
  const auto nearest = nearest_word(typed, words);
  return nearest.empty() || nearest == typed ? "" : fmt::format(" (did you mean '{}'?)", nearest);
}

// "unknown option '--T' (did you mean '--temperature'?)" for the first argument that is not
// understood.
std::string unexpected(const CLI::App& program, const CLI::App& command) {
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
  for (const auto* one : app.get_options()) {
    for (const auto& name : one->get_lnames()) names.push_back(name);
  }
  std::string advice =
      option_advice(*option, std::vector<std::string_view>(names.begin(), names.end()),
                    reads_study ? study_keys() : std::vector<KeyTable>{});
  if (advice.empty() && before) advice = "put the options of a subcommand after its name";
  return fmt::format("unknown option '{}'{}", option->substr(0, option->find('=')),
                     advice.empty() ? "" : " (" + advice + ")");
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// If descriptor 0, 1 or 2 is closed, the next file opened would get its number, and messages would
// be written into result files. Opens /dev/null in their place; writing to a closed standard output
// remains an error.
void occupy_standard_descriptors() {
  constexpr std::array<int, 3> modes{O_RDONLY, O_RDONLY, O_WRONLY};
  for (int file = 0; file < 3; ++file) {
    if (::fcntl(file, F_GETFD) >= 0 || errno != EBADF) continue;
    const int opened = ::open("/dev/null", modes[static_cast<std::size_t>(file)]);
    if (opened >= 0 && opened != file) ::close(opened);
  }
}

// Errors in writing to standard error are ignored (a full disk under a batch log, a pipe without a
// reader): losing a message is better than losing the run.
ssize_t write_if_possible(void*, const char* text, std::size_t size) {
  sigset_t broken_pipe, before;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  for (std::size_t done = 0; done < size;) {
    const ssize_t written = ::write(STDERR_FILENO, text + done, size - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) {
      const timespec at_once{};
      sigtimedwait(&broken_pipe, nullptr, &at_once);
    }
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return static_cast<ssize_t>(size);
}

// After this call no output to stderr fails, neither ours nor that of a library.
void ignore_stderr_errors() {
#ifdef __GLIBC__  // elsewhere stderr cannot be replaced, and fmt::print may throw
  cookie_io_functions_t functions{};
  functions.write = write_if_possible;
  if (FILE* const stream = ::fopencookie(nullptr, "w", functions)) {
    std::setvbuf(stream, nullptr, _IONBF, 0);
    stderr = stream;
  }
#endif
}

// HDF5 and CUDA crash if their allocations fail. A limit on the address space (ulimit -v) that is
// too small for any work is therefore an error at the start.
void require_address_space() {
  constexpr std::size_t least = std::size_t{96} << 20;
  void* const room = ::mmap(nullptr, least, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) {
    throw Error(ExitCode::device, fmt::format("not enough memory: less than {} MB of address space "
                                              "are left (a limit such as ulimit -v)",
                                              least >> 20));
  }
  ::munmap(room, least);
}

std::terminate_handler terminate_before = nullptr;
std::atomic<int> refusals = 0;  // existing Refusal exceptions, thrown or stored

class Refusal : public std::bad_alloc {
 public:
  Refusal() { ++refusals; }
  Refusal(const Refusal& other) : std::bad_alloc(other) { ++refusals; }
  ~Refusal() override { --refusals; }
};

[[noreturn]] void refuse_memory() { throw Refusal(); }

// If an allocation fails where no exception may leave (threads of a parallel region, noexcept
// functions of the standard library), the process ends with a message instead of a crash. Files are
// intact, and leases count as those of a dead process.
[[noreturn]] void end_without_memory() {
  // If the exception reached an inlined noexcept function, std::current_exception() is null, and
  // only these counts tell what was thrown.
  bool refused = refusals > 0 && std::uncaught_exceptions() > 0;
  try {
    if (std::current_exception() != nullptr) throw;
  } catch (const std::bad_alloc&) {
    refused = true;
  } catch (...) {
  }
  if (refused) {
    constexpr std::string_view message = "rewise: not enough memory\n";
    static_cast<void>(write_if_possible(nullptr, message.data(), message.size()));
    ::_exit(static_cast<int>(ExitCode::device));
  }
  terminate_before();
  std::abort();
}

int fail(ExitCode code, const std::string& message) {
  fmt::print(stderr, "rewise: {}\n", one_line(message));
  return static_cast<int>(code);
}

// Replaces messages of CLI11 that are hard to understand: "--x: At Most 1 required but received 2",
// "--x: 1 required N missing", "study is required", "--a excludes --b".
std::string in_our_words(const CLI::App& app, const std::string& message) {
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

int parse_failure(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App* app = &program;
  for (auto chosen = program.get_subcommands(); !chosen.empty();) {
    app = chosen.front();
    chosen = app->get_subcommands();
  }
  const std::string name = app == &program ? "rewise" : "rewise " + app->get_name();
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                     !program.remaining().empty();  // else CLI11 reports "A subcommand is required"
  return fail(ExitCode::usage, fmt::format("{}; see '{} --help'",
                                           extra ? unexpected(program, *app)
                                                 : in_our_words(*app, one_line(error.what())),
                                           name));
}

// Reports an unknown subcommand; CLI11 would only say that one is required.
void check_subcommand(const CLI::App& program, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> known;
  for (const auto* sub : program.get_subcommands({})) known.push_back(sub->get_name());
  if (std::find(known.begin(), known.end(), argv[1]) != known.end()) return;
  std::string advice = hint(argv[1], known);
  if (advice.empty()) {
    std::erase_if(known, [&](const std::string& name) {  // hidden subcommands
      return program.get_subcommand(name)->get_group().empty();
    });
    advice = fmt::format(" (known: {})", fmt::join(known, ", "));
  }
  throw Error(ExitCode::usage,
              fmt::format("unknown subcommand '{}'{}; see 'rewise --help'", argv[1], advice));
}

// Whether a command handles stop signals. The other commands end at once.
bool heeds_signals(const std::string& command) {
  constexpr std::array<std::string_view, 4> plain{"graph", "label", "info", "help"};
  return std::find(plain.begin(), plain.end(), command) == plain.end();
}

int run(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "{}{}{}", kAbout, examples(), kWhereToGo);
    return static_cast<int>(ExitCode::usage);
  }
  if (heeds_signals(argv[1])) install_stop_signals();
  release_stop_signals();
  CLI::App program{kAbout, "rewise"};
  program.set_version_flag("--version", "rewise " + build_info().version, "print the version");
  program.set_help_flag("-h,--help", "print this help");
  program.formatter(std::make_shared<Help>());
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
    return parse_failure(program, error);
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
  occupy_standard_descriptors();
  ignore_stderr_errors();
  terminate_before = std::set_terminate(end_without_memory);
  std::set_new_handler(refuse_memory);
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write()
  int status = 0;
  try {
    require_address_space();
    status = run(argc, argv);
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

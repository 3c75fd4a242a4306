#include "experiments/console/python.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "src/base/error.hpp"
#include "src/store/signals.hpp"
#include "src/store/syscalls.hpp"
#include "src/study/build_info.hpp"

extern char** environ;

namespace rewise {
namespace {

std::string interpreter() {
  const char* chosen = std::getenv("REWISE_PYTHON");
  return chosen != nullptr && *chosen != '\0' ? chosen : build_info().python;
}

enum class ChildOutput { inherited, discarded };

// Starts a program and waits for it. A stop signal of this process is passed on as SIGTERM. SIGINT,
// which a terminal sends to both, is blocked in the child, because Python answers it with a
// traceback. Returns the exit status, or 128 + the signal that ended it.
int run_program(const std::vector<std::string>& words, ChildOutput output) {
  std::vector<char*> argv;
  for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output == ChildOutput::discarded) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1 /* O_WRONLY */, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1 /* O_WRONLY */, 0);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  sigaddset(&blocked, SIGINT);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    throw Error(ExitCode::io, fmt::format("cannot start '{}': {}", words[0], std::strerror(error)));
  }
  int status = 0;
  bool signalled = false;
  for (pid_t ended = 0; ended == 0;) {
    ended = ::waitpid(child, &status, WNOHANG);
    if (ended < 0 && errno == EINTR) ended = 0;
    if (ended < 0) fail_io("wait for", words[0], errno);
    if (ended == 0 && stop_signal() != 0 && !std::exchange(signalled, true)) ::kill(child, SIGTERM);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Why plots cannot be drawn here; "" if they can. Starts Python to look for matplotlib.
std::string why_no_plots() {
  const std::string python = interpreter();
  if (python.empty())
    return "no Python was found when rewise was built (set the environment "
           "variable REWISE_PYTHON to one)";
  if (!file_exists(scripts_folder())) {
    return fmt::format(
        "{} is missing (was the folder moved after rewise was built? 'cmake "
        "--install' makes a copy that may be moved)",
        scripts_folder().string());
  }
  try {
    if (run_program({python, "-c", "import matplotlib, h5py, numpy"}, ChildOutput::discarded) == 0)
      return "";
  } catch (const Error& error) {
    return error.what();
  }
  return fmt::format(
      "{} has no matplotlib, h5py or numpy (Debian: python3-matplotlib "
      "python3-h5py)",
      python);
}

// Runs a script of analysis/rewise with these arguments. The script inherits standard output and
// error.
ExitCode run_script(const std::filesystem::path& script, std::vector<std::string> arguments) {
  const std::string python = interpreter(), name = script.filename().string();
  if (python.empty() || !file_exists(script)) throw Error(ExitCode::io, why_no_plots());
  arguments.insert(arguments.begin(), {python, script});
  std::fflush(stdout);
  const int status = run_program(arguments, ChildOutput::inherited);
  // For these statuses, the script itself has printed the reason.
  for (const ExitCode known : {ExitCode::done, ExitCode::usage, ExitCode::data, ExitCode::device,
                               ExitCode::held, ExitCode::io, ExitCode::interrupted}) {
    if (status == static_cast<int>(known)) return known;
  }
  const int signal = stop_signal() != 0 ? stop_signal() : status - 128;
  if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || stop_signal() != 0) {
    throw Error(ExitCode::interrupted,
                fmt::format("{} was stopped by {}; the same command completes the missing work",
                            name, signal_name(signal)));
  }
  throw Error(ExitCode::internal, signal > 0
                                      ? fmt::format("{} was ended by {}", name, signal_name(signal))
                                      : fmt::format("{} ended with status {}", name, status));
}

// Runs a script at the end of another command, whose result does not depend on it.
ExitCode run_after_command(const std::string& missing, const std::function<ExitCode()>& script) {
  try {
    const ExitCode status = script();
    // Of all failures, only a failed write changes the status of the command. Missing Python
    // packages, which give the script the same status, do not.
    const bool failed_write = status == ExitCode::io && why_no_plots().empty();
    return status == ExitCode::interrupted || failed_write ? status : ExitCode::done;
  } catch (const Error& error) {
    fmt::print(stderr, "{}: {}\n", missing, error.what());
    return error.exit_code() == ExitCode::interrupted ? ExitCode::interrupted : ExitCode::done;
  }
}

}  // namespace

ExitCode run_plot_script(const std::vector<std::string>& arguments) {
  return run_script(scripts_folder() / "plot.py", arguments);
}

ExitCode run_report_script(const std::filesystem::path& folder) {
  return run_script(scripts_folder() / "report.py", {folder});
}

ExitCode run_reproduce_script(std::vector<std::string> arguments) {
  std::error_code none;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  arguments.insert(arguments.begin(), {"--program", program});
  return run_script(scripts_folder().parent_path() / "reproduce.py", std::move(arguments));
}

ExitCode draw_plots(const std::vector<std::string>& arguments) {
  return run_after_command("no plots", [&] { return run_plot_script(arguments); });
}

ExitCode draw_report(const std::filesystem::path& folder) {
  return run_after_command("no plots and no report", [&] { return run_report_script(folder); });
}

}  // namespace rewise

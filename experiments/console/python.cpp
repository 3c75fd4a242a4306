#include "experiments/console/python.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "experiments/console/build_info.hpp"
#include "src/base/error.hpp"

extern char** environ;

namespace rewise {
namespace {

std::string interpreter() {
  const char* chosen = std::getenv("REWISE_PYTHON");
  return chosen != nullptr && *chosen != '\0' ? chosen : build_info().python;
}

// Starts a program and waits; `quiet` sends its output nowhere. 128 + signal where one ended it.
int run_program(const std::vector<std::string>& words, bool quiet) {
  std::vector<char*> argv;
  for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (quiet) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1 /* O_WRONLY */, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1 /* O_WRONLY */, 0);
  }
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw Error(ExitCode::io, fmt::format("cannot start '{}': {}", words[0], std::strerror(error)));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string plots_missing() {
  const std::string python = interpreter();
  if (python.empty()) return "no Python was found when this was built (REWISE_PYTHON names one)";
  try {
    if (run_program({python, "-c", "import matplotlib, h5py, numpy"}, true) == 0) return "";
  } catch (const Error& error) {
    return error.what();
  }
  return fmt::format(
      "{} has no matplotlib, h5py or numpy (Debian: python3-matplotlib "
      "python3-h5py)",
      python);
}

namespace {

// A script of analysis/rewise on these arguments, its output going where ours goes.
int run_script(const std::filesystem::path& script, std::vector<std::string> arguments) {
  const std::string python = interpreter();
  if (python.empty()) throw Error(ExitCode::io, plots_missing());
  arguments.insert(arguments.begin(), {python, script});
  return run_program(arguments, false);
}

// The script has said itself why it ends with a status of ours.
bool has_said_why(int status) {
  return status == static_cast<int>(ExitCode::usage) ||
         status == static_cast<int>(ExitCode::data) || status == static_cast<int>(ExitCode::io);
}

// Runs a script at the end of another command, whose result stands whatever becomes of it.
void run_beside(const std::string& what, const std::function<int()>& script) {
  try {
    const int status = script();
    if (status != 0 && !has_said_why(status)) {
      fmt::print(stderr, "{}: Python ended with status {}\n", what, status);
    }
  } catch (const Error& error) {
    fmt::print(stderr, "{}: {}\n", what, error.what());
  }
}

}  // namespace

int run_plot_script(const std::vector<std::string>& arguments) {
  return run_script(scripts_folder() / "plot.py", arguments);
}

int run_report_script(const std::filesystem::path& folder) {
  return run_script(scripts_folder() / "report.py", {folder});
}

void draw_plots(const std::vector<std::string>& arguments) {
  run_beside("no plots", [&] { return run_plot_script(arguments); });
}

void leave_report(const std::filesystem::path& folder) {
  run_beside("no plots, no report", [&] { return run_report_script(folder); });
}

}  // namespace rewise

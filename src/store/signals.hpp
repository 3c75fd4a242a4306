// Ending early without losing work: signals and the time limit set a flag, the run loop looks at it
// between steps, writes a checkpoint and leaves with ExitCode::interrupted.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace rewise {

// From here on the first SIGINT, SIGTERM, SIGUSR1, SIGXCPU or SIGHUP sets a flag. Others within a
// second of it are the same request (GNU timeout signals its child and then the child's whole
// group); a later one, unless it is SIGXCPU, ends the process at once with status 128 + its number.
// A SIGHUP that was ignored (nohup) stays so. SIGXFSZ is ignored: a file size limit then is an
// error of write(). Call once, in main.
void install_stop_signals();

// Between these two calls the same signals wait, also across exec(), so that one that arrives while
// the program starts is handled as any later one.
void hold_stop_signals();
void release_stop_signals();

// Between hold_stop_signals() and release_stop_signals() these signals wait, also across exec():
// one that comes while the program starts ends it no earlier than any later one.
void hold_stop_signals();
void release_stop_signals();

// The first stop signal's number, or 0.
int stop_signal();

// "SIGTERM"; "signal 64" where it has no name here.
std::string signal_name(int number);

// Forgets a signal that has come (tests).
void reset_stop_signal();

// What a run loop asks between steps. Cheap: a relaxed load and, with a limit, a clock read.
class StopToken {
 public:
  StopToken() = default;
  // `limit` counts from now.
  explicit StopToken(std::optional<std::chrono::duration<double>> limit);

  bool stop_requested() const;
  std::string reason() const;  // "SIGTERM" or "time limit"; empty while there is none

 private:
  std::optional<std::chrono::steady_clock::time_point> end_;
};

// "90", "90s", "5min", "12h", "1.5h", "2d", "1:30:00" (hours) -> seconds. Error(usage) naming
// `origin` (an option, or file:line:column and key).
std::chrono::duration<double> parse_duration(std::string_view text, std::string_view origin);

}  // namespace rewise

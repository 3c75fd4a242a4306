// Stops a run without losing work. Signals and the time limit set a flag; the run loop checks the
// flag between steps, writes a checkpoint and returns ExitCode::interrupted.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace rewise {

// Installs handlers for SIGINT, SIGTERM, SIGUSR1, SIGXCPU and SIGHUP. Call once, in main.
//
// The first of these signals sets the flag. Signals within a second of it count as the same request
// (GNU timeout signals its child and then the child's process group). Any later signal except
// SIGXCPU ends the process at once with status 128 + its number. If SIGHUP was ignored (nohup), it
// stays ignored. SIGXFSZ is ignored, so that a file size limit becomes an error of write().
void install_stop_signals();

// Block and unblock the same signals while the program starts. The block survives exec(). A signal
// that arrives in between is delivered after release_stop_signals().
void hold_stop_signals();
void release_stop_signals();

// The number of the first stop signal, or 0 if none has arrived.
int stop_signal();

// "SIGTERM"; "signal 64" if the number has no name here.
std::string signal_name(int number);

// The condition that a run loop checks between steps. Cost: a few relaxed loads and, with a time
// limit, a read of the clock.
class StopToken {
 public:
  StopToken() = default;
  // The limit starts now.
  explicit StopToken(std::optional<std::chrono::duration<double>> limit);

  bool stop_requested() const;
  // A name such as "SIGTERM", or kTimeLimit; empty without a stop request.
  std::string reason() const;
  static constexpr std::string_view kTimeLimit = "the time limit";
  // Throws Error(interrupted), "stopped by REASON" and `outcome`, on a stop request.
  void check(std::string_view outcome) const;

 private:
  std::optional<std::chrono::steady_clock::time_point> end_;
};

// "90" (seconds), "90s", "5min", "12h", "1.5h", "1d12h", "10:30" (min:s), "1:30:00" (h:min:s), and
// Slurm's "1-12", "1-12:30", "1-12:30:00" (days-h:min:s) -> seconds. Throws Error(usage) naming
// `origin` (an option, or file:line:column and key).
std::chrono::duration<double> parse_duration(std::string_view text, std::string_view origin);
// The same for a time limit; nothing for "none". A limit of 0 is an error: it would stop at once,
// but means "no limit" for Slurm.
std::optional<std::chrono::duration<double>> parse_time_limit(std::string_view text,
                                                              std::string_view origin);

}  // namespace rewise

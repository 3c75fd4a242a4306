#include "src/store/signals.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <limits>

#include "src/base/error.hpp"
#include "src/base/stop.hpp"

namespace rewise {
namespace {

constexpr std::int64_t kSameRequest = 1'000'000'000;  // ns

std::atomic<int> received{0};
std::atomic<std::int64_t> received_at{0};  // ns of the monotonic clock; 0: none yet
static_assert(std::atomic<int>::is_always_lock_free &&
                  std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler may use nothing else");

extern "C" void on_stop_signal(int number) {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  const std::int64_t now = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  int none = 0;
  if (received.compare_exchange_strong(none, number)) {
    received_at.store(now);
    return;
  }
  if (number == SIGXCPU) return;  // the kernel repeats it every second after a limit of CPU time
  const std::int64_t first = received_at.load();
  if (first != 0 && now - first > kSameRequest) ::_exit(128 + number);
}

void handle(int number) {
  struct sigaction action = {};
  action.sa_handler = on_stop_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGXCPU, SIGHUP}) sigaddset(&signals, number);
  return signals;
}

bool is_ignored(int number) {
  struct sigaction action = {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Converts `text` if all of it is a number, else returns NaN.
double number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? value : std::nan("");
}

// "h:mm:ss" or "m:ss" in seconds, else NaN.
double clock_seconds(std::string_view text) {
  double total = 0;
  int parts = 0;
  for (std::size_t at = 0; at <= text.size(); ++parts) {
    const std::size_t colon = std::min(text.find(':', at), text.size());
    const double part = number_of(text.substr(at, colon - at));
    if (part < 0 || (parts > 0 && part >= 60)) return std::nan("");
    total = 60 * total + part;
    at = colon + 1;
  }
  return parts <= 3 ? total : std::nan("");
}

// Slurm's "days-hours[:minutes[:seconds]]" in seconds, else NaN.
double day_seconds(std::string_view text, std::size_t dash) {
  const std::string_view clock = text.substr(dash + 1);
  if (clock.find_first_not_of("0123456789:") != std::string_view::npos) return std::nan("");
  const auto colons = std::ranges::count(clock, ':');
  if (colons > 2) return std::nan("");
  const double days = number_of(text.substr(0, dash));
  const double seconds = clock_seconds(std::string(clock) + (colons == 0   ? ":00:00"
                                                             : colons == 1 ? ":00"
                                                                           : ""));
  return seconds < 86400 ? 86400 * days + seconds : std::nan("");
}

double unit_seconds(std::string_view unit) {
  if (unit.empty() || unit == "s" || unit == "sec") return 1;
  if (unit == "m" || unit == "min") return 60;
  if (unit == "h") return 3600;
  if (unit == "d") return 86400;
  return std::nan("");
}

// "1d12h", "5 min" or "90" in seconds, else NaN. Each unit is smaller than the one before it.
double sum_of_units(std::string_view text) {
  double total = 0, last = std::numeric_limits<double>::infinity();
  do {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789.eE+-"), text.size());
    const std::string_view number = text.substr(0, digits);
    text.remove_prefix(digits);
    std::string_view unit =
        text.substr(0, std::min(text.find_first_of("0123456789."), text.size()));
    text.remove_prefix(unit.size());
    while (unit.starts_with(' ')) unit.remove_prefix(1);
    while (unit.ends_with(' ')) unit.remove_suffix(1);
    const double seconds = unit_seconds(unit);
    if (!(seconds < last) || (unit.empty() && std::isfinite(last))) return std::nan("");
    total += number_of(number) * seconds;
    last = seconds;
  } while (!text.empty());
  return total;
}

// "2h" for "2 Hours".
std::string with_short_units(std::string_view text) {
  std::string meant, unit;
  const auto end_unit = [&] {
    constexpr std::string_view letters = "smhd", shown[] = {"s", "min", "h", "d"};
    constexpr std::string_view words[] = {"seconds", "minutes", "hours", "days"};
    constexpr std::string_view others[] = {"secs", "mins", "hrs", ""};
    for (std::size_t k = 0; k < letters.size() && !unit.empty(); ++k) {
      const bool is_word =
          unit.size() > 1 && (words[k].starts_with(unit) || others[k].starts_with(unit));
      if (is_word || unit == letters.substr(k, 1)) unit = shown[k];
    }
    meant += unit;
    unit.clear();
  };
  for (const char c : text) {
    if (c == ' ') continue;
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter) end_unit();
    (letter ? unit : meant) += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  end_unit();
  return meant;
}

}  // namespace

void hold_stop_signals() {
  const sigset_t signals = stop_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
}

void release_stop_signals() {
  const sigset_t signals = stop_signals();
  ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
}

void install_stop_signals() {
  stop_request_hook = [] { return stop_signal() != 0; };
  const bool keep_hangup = is_ignored(SIGHUP);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGXCPU}) handle(number);
  if (!keep_hangup) handle(SIGHUP);
  std::signal(SIGXFSZ, SIG_IGN);
}

int stop_signal() { return received.load(std::memory_order_relaxed); }

StopToken::StopToken(std::optional<std::chrono::duration<double>> limit) {
  using Clock = std::chrono::steady_clock;
  // A limit beyond the range of the clock counts as no limit.
  if (limit && limit->count() < 1e9) {
    end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(*limit);
  }
}

bool StopToken::stop_requested() const {
  return stop_signal() != 0 || stop_requested_now() ||
         (end_ && std::chrono::steady_clock::now() >= *end_);
}

std::string signal_name(int number) {
  switch (number) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGUSR1:
      return "SIGUSR1";
    case SIGXCPU:
      return "SIGXCPU";
    case SIGHUP:
      return "SIGHUP";
    case SIGKILL:
      return "SIGKILL";
    default:
      return fmt::format("signal {}", number);
  }
}

std::string StopToken::reason() const {
  if (stop_signal() != 0) return signal_name(stop_signal());
  return std::string(stop_requested() ? kTimeLimit : "");
}

void StopToken::check(std::string_view outcome) const {
  if (!stop_requested()) return;
  throw Error(ExitCode::interrupted, fmt::format("stopped by {}{}", reason(), outcome));
}

std::chrono::duration<double> parse_duration(std::string_view text, std::string_view origin) {
  double value;
  const std::size_t days = text.find_first_not_of("0123456789");
  if (days != 0 && days != std::string_view::npos && text[days] == '-') {
    value = day_seconds(text, days);
  } else if (text.find(':') != std::string_view::npos) {
    value = clock_seconds(text);
  } else {
    value = sum_of_units(text);
  }
  if (!(value >= 0) || !std::isfinite(value)) {
    const std::string meant = with_short_units(text);
    const double seconds = sum_of_units(meant);
    throw Error(ExitCode::usage,
                fmt::format("{}: \"{}\" is not a duration ({}such as 90s, 5min, 1d12h, 1:30:00 or "
                            "1-12:00:00; without a unit: seconds)",
                            origin, text,
                            seconds > 0 && std::isfinite(seconds)
                                ? fmt::format("did you mean {}? allowed are durations ", meant)
                                : ""));
  }
  return std::chrono::duration<double>(value);
}

std::optional<std::chrono::duration<double>> parse_time_limit(std::string_view text,
                                                              std::string_view origin) {
  if (text == "none") return std::nullopt;
  const auto limit = parse_duration(text, origin);
  if (limit.count() > 0) return limit;
  throw Error(
      ExitCode::usage,
      fmt::format("{}: a limit of 0 would stop at once (for Slurm it means no limit); leave "
                  "it out, or give \"none\"",
                  origin));
}

}  // namespace rewise

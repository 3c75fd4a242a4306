// Stop signals and time limits.
#include "src/store/signals.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <utility>

#include "tests/support/errors.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

template <class F>
int status_of_child(F&& child) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) ::_exit(child());
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST_CASE("the first stop signal sets a flag, one more than a second later ends the process") {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGXCPU, SIGHUP}) {
    CHECK(status_of_child([&] {
            install_stop_signals();
            const StopToken token;
            if (token.stop_requested() || !token.reason().empty()) return 1;
            ::raise(number);
            if (!token.stop_requested() || stop_signal() != number) return 2;
            if (token.reason().rfind("SIG", 0) != 0) return 3;
            // Further signals within a second belong to the same request, whatever their number.
            ::raise(number);
            ::raise(number == SIGINT ? SIGTERM : SIGINT);
            if (stop_signal() != number) return 4;
            std::this_thread::sleep_for(std::chrono::milliseconds(1100));
            ::raise(number == SIGINT ? SIGTERM : SIGINT);
            return 5;
          }) == 128 + (number == SIGINT ? SIGTERM : SIGINT));
  }
}

TEST_CASE("a stop signal during the start of the program is kept until it is handled") {
  CHECK(status_of_child([] {
          hold_stop_signals();
          ::raise(SIGTERM);
          if (StopToken().stop_requested()) return 1;
          install_stop_signals();
          release_stop_signals();
          return StopToken().reason() == "SIGTERM" ? 0 : 2;
        }) == 0);
}

TEST_CASE("SIGXCPU may be repeated every second until the checkpoint is written") {
  CHECK(status_of_child([] {
          install_stop_signals();
          ::raise(SIGXCPU);
          std::this_thread::sleep_for(std::chrono::milliseconds(1100));
          ::raise(SIGXCPU);
          return StopToken().reason() == "SIGXCPU" ? 0 : 1;
        }) == 0);
}

TEST_CASE("a hang-up ignored by nohup stays ignored, a file size limit is an error of write") {
  CHECK(status_of_child([] {
          std::signal(SIGHUP, SIG_IGN);
          install_stop_signals();
          ::raise(SIGHUP);
          if (StopToken().stop_requested()) return 1;
          ::raise(SIGXFSZ);
          return 0;
        }) == 0);
}

TEST_CASE("a time limit ends a run") {
  using Seconds = std::chrono::duration<double>;
  CHECK(StopToken(Seconds(0)).stop_requested());
  CHECK(StopToken(Seconds(0)).reason() == "the time limit");
  CHECK_FALSE(StopToken(Seconds(3600)).stop_requested());
  CHECK_FALSE(StopToken(Seconds(1e300)).stop_requested());
  CHECK_FALSE(StopToken(std::nullopt).stop_requested());
}

TEST_CASE("a time limit may be none but not 0 which Slurm reads as no limit") {
  CHECK(parse_time_limit("1:30", "--time-limit")->count() == 90);
  CHECK_FALSE(parse_time_limit("none", "--time-limit"));
  for (const char* zero : {"0", "0s", "0:00", "0-0"}) {
    INFO(zero);
    CHECK(usage_error([&] {
            parse_time_limit(zero, "--time-limit");
          }).starts_with("--time-limit: a limit of 0 would stop at once"));
  }
}

TEST_CASE("durations in the notation of users") {
  for (const auto& [text, seconds] : {std::pair{"90", 90.0},
                                      {"90s", 90},
                                      {"5min", 300},
                                      {"5 min", 300},
                                      {"12h", 43200},
                                      {"1.5h", 5400},
                                      {"2d", 172800},
                                      {"1d12h", 129600},
                                      {"1h 30min 5s", 5405},
                                      {"1:30:00", 5400},
                                      {"10:30", 630},
                                      {"1-12:00:00", 129600},
                                      {"1-12:30", 131400},
                                      {"2-0", 172800},
                                      {"0-00:01:30", 90},
                                      {"1e-3", 1e-3},
                                      {"0", 0},
                                      {"1e3s", 1000}}) {
    INFO(text);
    CHECK(parse_duration(text, "x").count() == seconds);
  }
  for (const char* text :
       {"",          "s",    "-1",      "5 fortnights", "1:2:3:4", "1:75", ":",     "nan",
        "inf",       "1h30", "1h2h",    "30min1h",      "1e999",   "--5s", "1:-5",  "1-",
        "1-2:3:4:5", "1--2", "1-12:75", "-1-2",         "1-12h",   "1-24", "1-1e1", "-1hour"}) {
    INFO(text);
    const std::string says = usage_error([&] { parse_duration(text, "--time-limit"); });
    CHECK(says.starts_with(fmt::format("--time-limit: \"{}\" is not a duration (such as", text)));
  }
  for (const auto& [text, meant] : {std::pair{"2hours", "2h"},
                                    {"2 hours", "2h"},
                                    {"2H", "2h"},
                                    {"1 Day 12 hrs", "1d12h"},
                                    {"30 minutes", "30min"},
                                    {"1hour 30 mins 5 seconds", "1h30min5s"}}) {
    INFO(text);
    CHECK(usage_error([&] {
            parse_duration(text, "--time-limit");
          }).find(fmt::format("(did you mean {}? ", meant)) != std::string::npos);
  }
}

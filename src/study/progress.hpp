// Progress on standard error. A terminal shows one line that is rewritten; a log gets a line per
// stage and every 30 seconds. Thread-safe.
//
// A percentage is shown if the work is known; it never decreases and is at most 99 %. The time left
// is shown once the speed of the current stage is measured: over 2 % of the remaining work or after
// a minute. Neither is shown if more than a quarter of the remaining work is a guess (sizes whose
// times are not measured yet). If the work exceeds the total, the line says so instead of a time.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rewise {

// Computes the completed fraction and the remaining time of some work from the work done until
// `now`, in seconds since the start.
class WorkPace {
 public:
  // Sets the total work; `guessed` of it is uncertain.
  void set_total(double total, double guessed = 0) {
    total_ = total;
    guessed_ = guessed;
  }
  void add(double work, double now);
  // Adds work that was already done: it counts as done but not for the speed.
  void skip(double work);
  // Starts a stage, which may have another speed.
  void begin_stage(double now);

  // Percentage, rounded down; nothing if it is unknown or would decrease.
  std::optional<int> share();
  // Seconds left; nothing if they are unknown, infinite if more work was done than planned.
  std::optional<double> left(double now) const;

 private:
  struct Mark {
    double time, worked;
  };
  bool known() const;

  double total_ = 0, guessed_ = 0, done_ = 0, worked_ = 0;
  int most_ = 0;             // highest percentage so far
  std::vector<Mark> marks_;  // of the current stage, ascending
};

class Progress {
 public:
  // `total`: expected work in any unit; it may be corrected later. `quiet` suppresses output.
  Progress(std::string title, double total, bool quiet = false);
  ~Progress() { close(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Adds a part that runs beside the others with its own stage and work. Part 0 always exists.
  std::size_t add_part();
  // Sets the current activity of a part, such as "size 64x64"; "": none.
  void stage(const std::string& name, std::size_t part = 0);
  // Shows how many networks of the stage are done: "scan (3 of 8 networks)". stage() ends it.
  void count(std::size_t done, std::size_t all, std::size_t part = 0);
  void set_total(double total, double guessed = 0, std::size_t part = 0);
  void add(double work);
  void skip(double work);
  // Prints a message on its own line.
  void line(const std::string& text);
  // Counts one of many equal items as done.
  void finished();
  void close();  // removes the rewritten line

 private:
  struct Part {
    std::string stage;
    std::size_t networks = 0, networks_done = 0;
    double total = 0, guessed = 0;
  };
  double now() const;
  void draw(bool force);
  void erase();
  std::string text();
  Part& part(std::size_t number);

  mutable std::mutex mutex_;
  std::string title_;
  std::vector<Part> parts_;
  WorkPace pace_;
  std::size_t finished_ = 0;
  bool quiet_, terminal_, drawn_ = false, new_stage_ = false;
  std::chrono::steady_clock::time_point begin_;
  double last_drawn_ = 0;  // seconds since the start
};

// "4 s", "3 min 20 s", "2 h 5 min"
std::string duration_text(double seconds);
// "about 4 s", or "less than 1 s"
std::string estimate_text(double seconds);

}  // namespace rewise

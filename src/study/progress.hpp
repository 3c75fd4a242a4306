// Progress on standard error. A terminal has one line that renews itself; elsewhere (a log) there
// is a line per stage and per half minute. Safe to use from many threads.
//
// A share is shown if the work is known; it never falls and is 99 % at most. The time left is shown
// once a stretch of the present stage has been measured. Neither is shown if most of the work to
// come is a guess (sizes whose times are not measured yet). Work beyond the plan is said to be so.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rewise {

// How far some work is and how long it will take, from what was done until `now`, in seconds since
// the start.
class WorkPace {
 public:
  // Work in all, of which `guessed` may turn out to be more or less.
  void set_total(double total, double guessed = 0) {
    total_ = total;
    guessed_ = guessed;
  }
  void add(double work, double now);
  // Work that was found done: it counts as done but not towards the speed.
  void skip(double work);
  // From here on the speed may be another.
  void begin_stage(double now);

  // Per cent, rounded down; nothing where it would be less than it was before.
  std::optional<int> share();
  // Seconds; infinite once more work was done than planned, as nothing tells how much is left.
  std::optional<double> left(double now) const;

 private:
  struct Mark {
    double time, worked;
  };
  bool known() const;

  double total_ = 0, guessed_ = 0, done_ = 0, worked_ = 0;
  int most_ = 0;             // per cent, of those given
  std::vector<Mark> marks_;  // of this stage, ascending
};

class Progress {
 public:
  // `total`: expected work, in any unit; it may be corrected on the way. Quiet: says nothing.
  Progress(std::string title, double total, bool quiet = false);
  ~Progress() { close(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A number for a part with a stage and work of its own, beside the others. Part 0 always exists.
  std::size_t add_part();
  // What is being done, "size 64x64", by a part; "": nothing.
  void stage(const std::string& name, std::size_t part = 0);
  void set_total(double total, double guessed = 0, std::size_t part = 0);
  void add(double work);
  void skip(double work);
  // A message of its own line, on terminal and elsewhere.
  void line(const std::string& text);
  // One of many equal things is done; they are counted.
  void finished();
  void close();  // removes the renewing line

 private:
  struct Part {
    std::string stage;
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

}  // namespace rewise

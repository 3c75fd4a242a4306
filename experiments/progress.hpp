// Progress on standard error: one line that renews itself with share and time left where that is a
// terminal, one line per finished task where it is not. Safe to use from many threads.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

namespace rewise {

class Progress {
 public:
  // `total`: expected work, in any unit; it may be corrected on the way. Quiet: says nothing.
  Progress(std::string title, double total, bool quiet = false);
  ~Progress() { close(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void stage(const std::string& name);  // what is being done: "size 64x64"
  void set_total(double total);
  void add(double work);
  // Work that was found done: it counts as done but not towards the speed.
  void skip(double work);
  // A message of its own line, on terminal and elsewhere.
  void line(const std::string& text);
  // A finished task: shown only where there is no terminal, with share and time left.
  void finished(const std::string& text);
  void close();  // removes the renewing line

 private:
  void draw(bool force);
  void erase();
  std::string share() const;

  mutable std::mutex mutex_;
  std::string title_, stage_;
  double total_, done_ = 0, skipped_ = 0;
  bool quiet_, terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point begin_, last_drawn_;
};

// "4 s", "3 min 20 s", "2 h 5 min"
std::string duration_text(double seconds);

}  // namespace rewise

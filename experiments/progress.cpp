#include "experiments/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace rewise {

using Clock = std::chrono::steady_clock;

Progress::Progress(std::string title, double total, bool quiet)
    : title_(std::move(title)),
      total_(total),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) != 0),
      begin_(Clock::now()),
      last_drawn_(begin_) {}

void Progress::stage(const std::string& name) {
  const std::lock_guard lock(mutex_);
  stage_ = name;
  draw(true);
}

void Progress::set_total(double total) {
  const std::lock_guard lock(mutex_);
  total_ = total;
}

void Progress::add(double work) {
  const std::lock_guard lock(mutex_);
  done_ += work;
  draw(false);
}

void Progress::skip(double work) {
  const std::lock_guard lock(mutex_);
  done_ += work;
  skipped_ += work;
}

void Progress::line(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (quiet_) return;
  erase();
  fmt::print(stderr, "{}\n", text);
}

void Progress::finished(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (quiet_) return;
  if (terminal_) {
    draw(false);
  } else {
    fmt::print(stderr, "[{}] {}\n", share(), text);
  }
}

void Progress::close() {
  const std::lock_guard lock(mutex_);
  erase();
}

std::string Progress::share() const {
  const double part = total_ > 0 ? std::min(done_ / total_, 1.0) : 0;
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  std::string text = fmt::format("{:3.0f} %", std::floor(100 * part));
  const double worked = done_ - skipped_;
  // The first tasks are small ones, whose time says little about that of all.
  if (worked > 0 && seconds > 1 && (worked > 0.02 * total_ || seconds > 60)) {
    text +=
        fmt::format(", {} left", duration_text(seconds * std::max(total_ - done_, 0.0) / worked));
  }
  return text;
}

// At most ten times a second, and not before the work has shown to take time.
void Progress::draw(bool force) {
  if (!terminal_ || quiet_) return;
  const auto now = Clock::now();
  if (now - begin_ < std::chrono::milliseconds(500)) return;
  if (!force && now - last_drawn_ < std::chrono::milliseconds(100)) return;
  last_drawn_ = now;
  drawn_ = true;
  fmt::print(stderr, "\r\x1b[K{}{}: {}", title_, stage_.empty() ? "" : ", " + stage_, share());
  std::fflush(stderr);
}

void Progress::erase() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

std::string duration_text(double seconds) {
  const auto s = static_cast<long>(std::lround(std::max(seconds, 0.0)));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
}

}  // namespace rewise

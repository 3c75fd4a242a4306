#include "src/study/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "src/base/count_text.hpp"

namespace rewise {
namespace {

constexpr double kQuietStart = 0.5;                     // seconds; shorter work shows no progress
constexpr double kTerminalPause = 0.1, kLogPause = 30;  // seconds between two lines
constexpr double kMaxGuessed = 0.25;  // largest guessed fraction of the remaining work
constexpr double kMinMeasured = 2;    // seconds before a speed is computed
constexpr double kRounding = 1e-9;    // relative rounding error of sums of work
// A stage has a speed after this fraction of the remaining work, or after kMaxUnknown seconds: its
// first tasks are small, and starting them takes a part of the time.
constexpr double kMinShare = 0.02;
constexpr double kMaxUnknown = 60;

}  // namespace

void WorkPace::add(double work, double now) {
  done_ += work;
  worked_ += work;
  if (marks_.empty() || now - marks_.back().time >= std::max(0.05, 0.005 * now)) {
    marks_.push_back({now, worked_});
  }
}

void WorkPace::skip(double work) { done_ += work; }

void WorkPace::begin_stage(double now) { marks_.assign(1, {now, worked_}); }

bool WorkPace::known() const {
  return total_ > 0 && guessed_ <= kMaxGuessed * std::max(total_ - done_, 0.0);
}

std::optional<int> WorkPace::share() {
  if (!known()) return std::nullopt;
  const int now = static_cast<int>(std::floor(100 * std::clamp(done_ / total_, 0.0, 1.0)));
  if (now < most_) return std::nullopt;
  most_ = now;
  return now;
}

// The speed is measured over the last half of the time, or over the current stage if that is
// shorter.
std::optional<double> WorkPace::left(double now) const {
  if (!known() || marks_.empty()) return std::nullopt;
  if (done_ > (1 + kRounding) * total_) return std::numeric_limits<double>::infinity();
  const double from = std::min(now / 2, now - kMinMeasured);
  auto mark = std::partition_point(marks_.begin(), marks_.end(),
                                   [&](const Mark& m) { return m.time <= from; });
  if (mark != marks_.begin()) --mark;
  const double seconds = now - mark->time, work = worked_ - mark->worked;
  if (seconds < kMinMeasured || !(work > 0)) return std::nullopt;
  const double remaining = std::max(total_ - done_, 0.0);
  const bool young = now - marks_.front().time < kMaxUnknown;  // the stage
  if (young && work < kMinShare * remaining) return std::nullopt;
  return seconds * remaining / work;
}

using Clock = std::chrono::steady_clock;

Progress::Progress(std::string title, double total, bool quiet)
    : title_(std::move(title)),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) != 0),
      begin_(Clock::now()) {
  part(0).total = total;
  pace_.set_total(total);
  pace_.begin_stage(0);
}

double Progress::now() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

Progress::Part& Progress::part(std::size_t number) {
  if (parts_.size() <= number) parts_.resize(number + 1);
  return parts_[number];
}

std::size_t Progress::add_part() {
  const std::lock_guard lock(mutex_);
  parts_.emplace_back();
  return parts_.size() - 1;
}

void Progress::stage(const std::string& name, std::size_t number) {
  const std::lock_guard lock(mutex_);
  const bool known =
      name.empty()
          ? part(number).stage.empty()
          : std::ranges::any_of(parts_, [&](const Part& other) { return other.stage == name; });
  part(number).stage = name;
  part(number).networks = part(number).networks_done = 0;
  if (known) return;
  new_stage_ = new_stage_ || !name.empty();
  pace_.begin_stage(now());
  draw(true);
}

void Progress::count(std::size_t done, std::size_t all, std::size_t number) {
  const std::lock_guard lock(mutex_);
  part(number).networks = all;
  part(number).networks_done = done;
  draw(false);
}

void Progress::set_total(double total, double guessed, std::size_t number) {
  const std::lock_guard lock(mutex_);
  part(number).total = total;
  part(number).guessed = guessed;
  double all = 0, guess = 0;
  for (const Part& one : parts_) {
    all += one.total;
    guess += one.guessed;
  }
  pace_.set_total(all, guess);
}

void Progress::add(double work) {
  const std::lock_guard lock(mutex_);
  pace_.add(work, now());
  draw(false);
}

void Progress::skip(double work) {
  const std::lock_guard lock(mutex_);
  pace_.skip(work);
}

void Progress::line(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (quiet_) return;
  erase();
  fmt::print(stderr, "{}\n", text);
}

void Progress::finished() {
  const std::lock_guard lock(mutex_);
  ++finished_;
  draw(false);
}

void Progress::close() {
  const std::lock_guard lock(mutex_);
  erase();
}

// "tc-2d, 32x32, 64x64 and tree condition: 40 %, 120 done, 2 min 5 s left"
std::string Progress::text() {
  const double seconds = now();
  const auto share = pace_.share();
  const auto left = pace_.left(seconds);
  std::string text = title_;
  std::vector<Part> stages;  // without duplicates
  for (const Part& one : parts_) {
    if (one.stage.empty()) continue;
    const auto same = std::ranges::find(stages, one.stage, &Part::stage);
    if (same == stages.end()) {
      stages.push_back(one);
    } else {
      same->networks += one.networks;
      same->networks_done += one.networks_done;
    }
  }
  for (std::size_t k = 0; k < stages.size(); ++k) {
    text += (k == 0 || k + 1 < stages.size() ? ", " : " and ") + stages[k].stage;
    if (stages[k].networks == 0) continue;
    text += fmt::format(" ({} of {} networks)", stages[k].networks_done, stages[k].networks);
  }
  // The planned work is done but the line is still shown, so some work remains.
  text += share ? fmt::format(": {} %", std::min(*share, 99))
                : fmt::format(": {}", duration_text(seconds));
  if (finished_ > 0) text += fmt::format(", {} done", count_text(finished_, "task"));
  if (left && std::isinf(*left)) {
    text += ", longer than estimated";
  } else if (left && *left > 0.01) {
    text += fmt::format(", {} left", duration_text(std::max(*left, 1.0)));
  }
  return text;
}

void Progress::draw(bool force) {
  if (quiet_) return;
  const double seconds = now();
  if (seconds < kQuietStart) return;
  const double pause = terminal_ ? kTerminalPause : kLogPause;
  if (!(terminal_ && force) && !(!terminal_ && new_stage_) && seconds - last_drawn_ < pause) return;
  last_drawn_ = seconds;
  new_stage_ = false;
  if (!terminal_) {
    fmt::print(stderr, "{}\n", text());
    return;
  }
  drawn_ = true;
  fmt::print(stderr, "\r\x1b[K{}", text());
  std::fflush(stderr);
}

void Progress::erase() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

std::string estimate_text(double seconds) {
  return seconds < 1 ? "less than 1 s" : "about " + duration_text(seconds);
}

std::string duration_text(double seconds) {
  const auto s = static_cast<long>(std::lround(std::max(seconds, 0.0)));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
}

}  // namespace rewise

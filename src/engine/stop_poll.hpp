// Checks for a stop request (EngineOptions::stop). A thread counts its work and calls stop() after
// every `stop_grain` site updates, which take milliseconds. A request is stored for all threads of
// one call of advance(). Each call does some work before it is stopped, so a run that is stopped
// and continued again and again makes progress.
#pragma once

#include <atomic>
#include <cstdint>

#include "src/engine/engine.hpp"

namespace rewise {

class StopPoll {
 public:
  // `stopped` is shared by the threads of a call and outlives the poll.
  StopPoll(const EngineOptions& options, std::atomic<bool>& stopped)
      : options_(options), stopped_(stopped), active_(static_cast<bool>(options.stop)) {}

  bool active() const { return active_; }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  std::uint64_t grain() const { return options_.stop_grain; }

  // Counts work that all threads of a team do together. Each thread counts all of it, so that due()
  // returns true on all threads at the same point of the work.
  void add(std::uint64_t sites) { together_ += sites; }
  bool due() {
    if (!active() || together_ < grain()) return false;
    together_ = 0;
    return true;
  }
  void ask() {
    if (options_.stop()) stopped_.store(true, std::memory_order_relaxed);
  }

  // Counts work of this thread only. Returns whether the thread must stop here.
  bool must_stop(std::uint64_t sites) {
    if (!active()) return false;
    alone_ += sites;
    if (alone_ >= grain() && !stopped()) {
      alone_ = 0;
      ask();
    }
    return stopped();
  }

 private:
  const EngineOptions& options_;
  std::atomic<bool>& stopped_;
  const bool active_;
  std::uint64_t together_ = 0, alone_ = 0;
};

}  // namespace rewise

// How a thread looks for a stop (EngineOptions::stop): it counts its work and asks every
// `stop_grain` site updates, which take milliseconds; the answer yes is kept for all threads of one
// call of advance(). So a call always does some work before it is stopped: a run that is stopped
// and continued for ever comes to its end.
#pragma once

#include <atomic>
#include <cstdint>

#include "src/engine/engine.hpp"

namespace rewise {

class StopWatch {
 public:
  // `stopped` is shared by the threads of a call and outlives the watch.
  StopWatch(const EngineOptions& options, std::atomic<bool>& stopped)
      : options_(options), stopped_(stopped), active_(static_cast<bool>(options.stop)) {}

  bool active() const { return active_; }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  std::uint64_t grain() const { return options_.stop_grain; }

  // Work by all threads of a team: counted by each of them, so that it is due for all at once.
  void add(std::uint64_t sites) { together_ += sites; }
  bool due() {
    if (!active() || together_ < grain()) return false;
    together_ = 0;
    return true;
  }
  void ask() {
    if (options_.stop()) stopped_.store(true, std::memory_order_relaxed);
  }

  // Work by this thread alone: whether it ends here.
  bool ends(std::uint64_t sites) {
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

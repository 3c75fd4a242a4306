// How preparations end early: building a graph, an engine's tables. They keep nothing, so being
// asked to stop is an error of theirs; what has state to keep looks by itself
// (src/engine/stop_watch.hpp). A time limit does not end them: it allows a step at least.
#pragma once

#include <atomic>
#include <cstdint>

#include "src/base/error.hpp"

namespace rewise {

// Whether the process was asked to end; none where nobody asks (libraries, tests).
inline std::atomic<bool (*)()> stop_question{nullptr};

inline bool stop_asked() {
  const auto asked = stop_question.load(std::memory_order_relaxed);
  return asked != nullptr && asked();
}

// Error(interrupted).
inline void check_stop() {
  if (stop_asked()) throw Error(ExitCode::interrupted, "stopped before the first step");
}

// The same in a loop: every 2^14 calls.
class StopCheck {
 public:
  void operator()() {
    if ((++calls_ & 0x3FFFu) == 0) check_stop();
  }

 private:
  std::uint32_t calls_ = 0;
};

}  // namespace rewise

// Stops preparations early, such as building a graph or the tables of an engine. They have no state
// to save, so a stop request is an error. Engines, which have state, check it themselves
// (src/engine/stop_poll.hpp). A time limit does not stop preparations: it allows at least one
// step.
#pragma once

#include <atomic>
#include <cstdint>

#include "src/base/error.hpp"

namespace rewise {

// A function that returns whether the process received a stop request; null in libraries and tests.
inline std::atomic<bool (*)()> stop_request_hook{nullptr};

inline bool stop_requested_now() {
  const auto asked = stop_request_hook.load(std::memory_order_relaxed);
  return asked != nullptr && asked();
}

// Throws Error(interrupted) after a stop request.
inline void check_stop() {
  if (stop_requested_now()) throw Error(ExitCode::interrupted, "stopped before the first step");
}

// check_stop() for loops: checks only in every 2^14th call.
class StopCheck {
 public:
  void operator()() {
    if ((++calls_ & 0x3FFFu) == 0) check_stop();
  }

 private:
  std::uint32_t calls_ = 0;
};

}  // namespace rewise

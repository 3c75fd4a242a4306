// Seconds on a clock that only goes forward, for the differences of two readings.
#pragma once

#include <chrono>

namespace rewise {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace rewise

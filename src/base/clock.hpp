// Seconds on a monotonic clock, for time differences.
#pragma once

#include <chrono>

namespace rewise {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace rewise

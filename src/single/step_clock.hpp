// Wall-clock time between the steps of an update.
#pragma once

#include <chrono>

namespace rewise::single {

class StepClock {
 public:
  // Adds the seconds since the step before.
  void add_to(double& seconds) {
    const auto now = std::chrono::steady_clock::now();
    seconds += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }
  void restart() { last_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace rewise::single

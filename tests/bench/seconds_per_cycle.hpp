// What a benchmark times: cycles of one engine, the median of five pieces after a first.
#pragma once

#include <algorithm>
#include <array>

#include "src/base/clock.hpp"
#include "src/engine/engine.hpp"

namespace rewise {

inline double seconds_per_cycle(Engine& engine, const Schedule& schedule, std::uint64_t cycles) {
  engine.advance(schedule, cycles);
  std::array<double, 5> seconds;
  for (double& piece : seconds) {
    const double start = now();
    engine.advance(schedule, cycles);
    piece = (now() - start) / static_cast<double>(cycles);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[2];
}

}  // namespace rewise

// advance() of engines on CUDA devices, which make each step of all their replicas together. It
// runs in pieces of about kPieceSeconds and checks for a stop request between them. A piece has
// several short cycles, or some steps of a long cycle. This does not change the moves, because
// random numbers are addressed by the step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "src/base/clock.hpp"
#include "src/engine/schedule.hpp"

namespace rewise {

// Seconds of a step of each kind, 0 = not measured yet.
struct StepSeconds {
  double local = 0, cluster = 0;

  bool measured(const Schedule& s) const {
    return (s.local == 0 || local > 0) && (s.cluster == 0 || cluster > 0);
  }
  double seconds(const Schedule& s) const { return s.local * local + s.cluster * cluster; }
  // Updates the seconds from a measured piece.
  void update(const Schedule& s, std::uint64_t cycles, double seconds_taken) {
    if (s.updates_per_cycle() == 0) return;
    const double each = std::max(seconds_taken, 1e-9) / static_cast<double>(cycles);
    const double before = seconds(s);
    if (s.cluster == 0) {
      local = each / s.local;
    } else if (s.local == 0) {
      cluster = each / s.cluster;
    } else {
      local *= each / before;
      cluster *= each / before;
    }
  }
};

inline constexpr double kPieceSeconds = 0.2;

// The next piece at step `at` of `total`: several whole cycles, or part of one cycle, which is
// expressed as a schedule that runs once.
struct SchedulePiece {
  Schedule schedule;
  std::uint64_t cycles = 1;
};
inline SchedulePiece next_piece(const Schedule& schedule, const StepSeconds& step_seconds,
                                std::uint64_t at, std::uint64_t total) {
  const std::uint64_t each = schedule.steps_per_cycle(), in_cycle = at % each;
  const auto fitting = [](double seconds, std::uint64_t most) {
    const double count = kPieceSeconds / seconds;
    return count >= static_cast<double>(most)
               ? most
               : std::max<std::uint64_t>(static_cast<std::uint64_t>(count), 1);
  };
  if (in_cycle == 0 && step_seconds.measured(schedule) &&
      step_seconds.seconds(schedule) <= kPieceSeconds) {
    const std::uint64_t left = (total - at) / each;
    if (left > 0) return {schedule, fitting(step_seconds.seconds(schedule), left)};
  }
  if (in_cycle >= schedule.updates_per_cycle()) {
    const bool moved = in_cycle > schedule.updates_per_cycle();  // the Houdayer move is made
    return {{0, 0, schedule.exchange, schedule.houdayer && !moved}, 1};
  }
  const bool local = in_cycle < schedule.local;
  const double step = local ? step_seconds.local : step_seconds.cluster;
  const std::uint64_t left = (local ? schedule.local : schedule.updates_per_cycle()) - in_cycle;
  const auto count = static_cast<std::uint32_t>(step > 0 ? fitting(step, left) : 1);
  return {local ? Schedule{count, 0} : Schedule{0, count}, 1};
}

// Calls run(schedule, cycles), which must return only when its steps are complete, until the steps
// of `cycles` cycles are done. `done_before`: the number of steps already done, which may exceed
// the number requested. Returns the total number of steps done; it is less than requested only
// after a stop.
template <class Run>
std::uint64_t run_in_pieces(const std::function<bool()>& stop, const Schedule& schedule,
                            std::uint64_t cycles, StepSeconds& step_seconds,
                            std::uint64_t done_before, const Run& run) {
  const std::uint64_t total = schedule.steps_per_cycle() * cycles;
  if (!stop && done_before == 0) {
    run(schedule, cycles);
    return total;
  }
  std::uint64_t at = done_before;
  while (at < total) {
    const SchedulePiece piece = next_piece(schedule, step_seconds, at, total);
    const double start = now();
    run(piece.schedule, piece.cycles);
    step_seconds.update(piece.schedule, piece.cycles, now() - start);
    at += piece.schedule.steps_per_cycle() * piece.cycles;
    if (at < total && stop && stop()) break;
  }
  return at;
}

}  // namespace rewise

// Single-site updates of Potts spins (host and device). The heat bath is for sites with few
// neighbours: it sorts the states of the neighbours. Its results equal those of the heat bath in
// local.cpp, which counts the neighbours in each of q states.
#pragma once

#include <cstdint>

#include "src/bytespin/rules.hpp"

namespace rewise::bytespin {

// Marks a missing neighbour; larger than every state.
inline constexpr std::uint32_t kNoState = 256;

// Metropolis: returns the proposed state or the old one. `same` is the number of neighbours in the
// old state, `other` the number in the proposed state. flip: Thresholds::flip.
RW_HD std::uint32_t metropolis_state(const Threshold* flip, std::uint32_t old, std::uint32_t same,
                                     std::uint32_t proposed, std::uint32_t other,
                                     std::uint32_t draw) {
  return is_below(draw, flip[same > other ? same - other : 0]) ? proposed : old;
}

// Sorts in ascending order; compiles to minima and maxima of registers.
template <int kCount>
RW_HD void sort_states(std::uint32_t (&state)[kCount]) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int end = kCount - 1; end > 0; --end) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int i = 0; i < end; ++i) {
      const std::uint32_t a = state[i], b = state[i + 1];
      state[i] = a < b ? a : b;
      state[i + 1] = a < b ? b : a;
    }
  }
}

// Calls f(state, number of neighbours in it) for every state among sorted neighbours, in ascending
// order, until f returns true. Returns whether f returned true.
template <int kCount, class F>
RW_HD bool for_each_state(const std::uint32_t (&state)[kCount], F&& f) {
  std::uint32_t run = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int i = 0; i < kCount; ++i) {
    ++run;
    if (i + 1 < kCount && state[i + 1 < kCount ? i + 1 : i] == state[i]) continue;
    if (state[i] != kNoState && f(state[i], run)) return true;
    run = 0;
  }
  return false;
}

// Heat bath: draws state s with weight[most - n_s], where n_s neighbours are in s and `most` is the
// largest n_s (weight: Thresholds::weight). `state` is sorted. Consecutive states without a
// neighbour have equal weights and are skipped in one step.
template <int kCount>
RW_HD std::uint32_t heat_bath_state(const std::uint64_t* weight, std::uint32_t q,
                                    const std::uint32_t (&state)[kCount], std::uint64_t random) {
  std::uint32_t most = 0, present = 0;
  for_each_state(state, [&](std::uint32_t, std::uint32_t n) {
    most = n > most ? n : most;
    ++present;
    return false;
  });
  const std::uint64_t none = weight[most];
  std::uint64_t total = (q - present) * none;
  for_each_state(state, [&](std::uint32_t, std::uint32_t n) {
    total += weight[most - n];
    return false;
  });
  std::uint64_t rest = mulhi64(random, total);
  std::uint32_t next = 0;  // the first state not yet considered
  for_each_state(state, [&](std::uint32_t s, std::uint32_t n) {
    const std::uint64_t gap = (s - next) * none, own = weight[most - n];
    if (rest < gap) return true;
    rest -= gap;
    next = s;
    if (rest < own) {
      rest = 0;
      return true;
    }
    rest -= own;
    ++next;
    return false;
  });
  return rest == 0 ? next : next + static_cast<std::uint32_t>(rest / none);
}

}  // namespace rewise::bytespin

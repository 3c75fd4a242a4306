// The threads that share the updates of one word group. A team of one needs no barrier.
#pragma once

#include <cstdint>
#include <utility>

#include "src/engine/stop_poll.hpp"

namespace rewise::multispin {

struct ThreadTeam {
  int member = 0, size = 1;

  bool first() const { return member == 0; }
  void barrier() const {
    if (size > 1) {
#pragma omp barrier
    }
  }
  // The contiguous range of `count` items that belongs to this member.
  std::pair<std::uint32_t, std::uint32_t> own_range(std::uint32_t count) const {
    const auto first_of = [&](int k) {
      return static_cast<std::uint32_t>(std::uint64_t{count} * static_cast<unsigned>(k) /
                                        static_cast<unsigned>(size));
    };
    return {first_of(member), first_of(member + 1)};
  }

  // Whether the team stops here. The result is the same for all members, because no member can set
  // the flag between the two barriers.
  bool agrees_to_end(const StopPoll& poll) const {
    barrier();
    if (!poll.active()) return false;
    const bool ends = poll.stopped();
    barrier();
    return ends;
  }
  // Once per poll.grain() sites of shared work, the first member polls for a stop request and the
  // team calls agrees_to_end(). Otherwise returns false.
  bool must_stop(StopPoll& poll) const {
    if (!poll.due()) return false;
    if (first()) poll.ask();
    return agrees_to_end(poll);
  }
};

}  // namespace rewise::multispin

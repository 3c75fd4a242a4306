// The threads that share one bundle's updates. A team of one needs no barrier.
#pragma once

#include <cstdint>
#include <utility>

namespace rewise::bundle {

struct Team {
  int member = 0, size = 1;

  bool first() const { return member == 0; }
  void barrier() const {
    if (size > 1) {
#pragma omp barrier
    }
  }
  // This member's contiguous share of `count` parts.
  std::pair<std::uint32_t, std::uint32_t> part(std::uint32_t count) const {
    const auto share = [&](int k) {
      return static_cast<std::uint32_t>(std::uint64_t{count} * static_cast<unsigned>(k) /
                                        static_cast<unsigned>(size));
    };
    return {share(member), share(member + 1)};
  }
};

}  // namespace rewise::bundle

// The part of every system that one device works on where several devices share them
// (engine_team.cpp), and how the blocks of a launch find their system and place in it.
//
// Work is cut in the order of the sites, so the parts of all kernels and of all arrays lie over
// each other but for a few items at their borders: which part an item is in decides where its
// numbers are near, never what they are.
#pragma once

#include <cstdint>

#include "src/single/fast_div.hpp"

namespace rewise::single {

struct Share {
  std::uint32_t part = 0, parts = 1;

  // Of `count` items that follow each other, those of this part: [begin, end). counts < 2^48.
  std::uint64_t begin(std::uint64_t count) const { return count * part / parts; }
  std::uint64_t end(std::uint64_t count) const { return count * (part + 1) / parts; }
  bool has(std::uint64_t item, std::uint64_t count) const {
    return item >= begin(count) && item < end(count);
  }
};

// Blocks of a launch: `per_system` for each system, system after system.
struct SystemBlocks {
  FastDiv per_system;
  std::uint32_t first = 0;  // of the part's blocks, among those of the whole system

  // Those of a share of `blocks` per system; may be none.
  SystemBlocks(std::uint64_t blocks, const Share& share)
      : per_system(static_cast<std::uint32_t>(share.end(blocks) - share.begin(blocks))),
        first(static_cast<std::uint32_t>(share.begin(blocks))) {}

  std::uint32_t count(std::uint32_t systems) const { return per_system.divisor * systems; }

  struct Place {
    std::uint32_t who;    // system
    std::uint32_t block;  // in the whole system
  };
  RW_HD Place place(std::uint32_t index) const {
    const std::uint32_t who = per_system.quotient(index);
    return {who, first + (index - who * per_system.divisor)};
  }
};

}  // namespace rewise::single

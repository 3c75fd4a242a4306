// The part of every system that a rank computes, and the mapping of thread blocks to systems and
// positions. A part consists of whole planes. A launch covers all blocks that overlap the part;
// results outside of the part are discarded. Without ranks the part is the whole system.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/base/fast_div.hpp"

namespace rewise {

// Part `index` of `count`; on one device the whole system. For ranks, `parts` of `count` planes or
// rows of tiles.
struct DevicePart {
  std::uint32_t index = 0, count = 1;
  std::uint32_t parts = 1;
  bool overlaps = false;  // blocks of items may go beyond the part

  // Range [begin, end) of this part among `items` consecutive items. items < 2^32, or 2^48 for few
  // parts.
  std::uint64_t begin(std::uint64_t items) const { return items * index / count; }
  std::uint64_t end(std::uint64_t items) const {
    return items * (std::uint64_t{index} + parts) / count;
  }
  bool has(std::uint64_t item, std::uint64_t items) const {
    return item >= begin(items) && item < end(items);
  }
  // The same for blocks of items. The last block may be incomplete, so the part of the blocks may
  // begin after the part of the items, by less than a block.
  std::uint64_t first_block(std::uint64_t blocks) const {
    return overlaps ? std::max<std::uint64_t>(begin(blocks), 1) - 1 : begin(blocks);
  }
  std::uint64_t end_block(std::uint64_t blocks) const {
    return overlaps ? std::min(blocks, end(blocks) + 1) : end(blocks);
  }
};

// Blocks of a launch: `per_system` for each system, system after system.
struct SystemBlocks {
  FastDiv per_system;
  std::uint32_t systems;
  std::uint32_t first;  // first block of the part, numbered in the whole system

  // A part of the `blocks` of each system; may be empty.
  SystemBlocks(std::uint64_t blocks, std::uint32_t system_count, const DevicePart& part = {})
      : per_system(static_cast<std::uint32_t>(part.end_block(blocks) - part.first_block(blocks))),
        systems(system_count),
        first(static_cast<std::uint32_t>(part.first_block(blocks))) {}

  // Blocks [begin, end) of each system; may be empty.
  static SystemBlocks range(std::uint64_t begin, std::uint64_t end, std::uint32_t systems) {
    SystemBlocks blocks(end - begin, systems);
    blocks.first = static_cast<std::uint32_t>(begin);
    return blocks;
  }

  std::uint32_t count() const { return per_system.divisor * systems; }

  struct Place {
    std::uint32_t who;    // system
    std::uint32_t block;  // in the whole system
  };
  RW_HD Place place(std::uint32_t index) const {
    const std::uint32_t who = per_system.quotient(index);
    return {who, first + (index - who * per_system.divisor)};
  }
};

}  // namespace rewise

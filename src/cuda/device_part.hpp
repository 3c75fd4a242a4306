// The part of every replica that a rank computes, and the mapping of thread blocks to replicas and
// positions. A part consists of whole planes. A launch covers all blocks that overlap the part;
// results outside of the part are discarded. Without ranks the part is the whole replica.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/base/fast_div.hpp"

namespace rewise {

// Parts [first, first + size) of `total` equal parts (planes or rows of tiles) of every replica;
// by default the whole replica.
struct DevicePart {
  std::uint32_t first = 0, total = 1;
  std::uint32_t size = 1;
  bool overlaps = false;  // blocks of items may go beyond the part

  // Range [begin, end) of this part among `items` consecutive items. items < 2^32, or 2^48 for few
  // parts.
  std::uint64_t begin(std::uint64_t items) const { return items * first / total; }
  std::uint64_t end(std::uint64_t items) const {
    return items * (std::uint64_t{first} + size) / total;
  }
  bool has(std::uint64_t item, std::uint64_t items) const {
    return item >= begin(items) && item < end(items);
  }
  // Range of the blocks of items that overlap this part. The last block may be incomplete, so
  // blocks begin(blocks) .. end(blocks) - 1 may not cover the part. `overlaps` adds one block at
  // each end.
  std::uint64_t first_block(std::uint64_t blocks) const {
    return overlaps ? std::max<std::uint64_t>(begin(blocks), 1) - 1 : begin(blocks);
  }
  std::uint64_t end_block(std::uint64_t blocks) const {
    return overlaps ? std::min(blocks, end(blocks) + 1) : end(blocks);
  }
};

// Blocks of a launch: `per_replica` for each replica, replica after replica.
struct ReplicaBlocks {
  FastDiv per_replica;
  std::uint32_t replicas;
  std::uint32_t first;  // first block of the part, numbered in the whole replica

  // A part of the `blocks` of each replica; may be empty.
  ReplicaBlocks(std::uint64_t blocks, std::uint32_t replica_count, const DevicePart& part = {})
      : per_replica(static_cast<std::uint32_t>(part.end_block(blocks) - part.first_block(blocks))),
        replicas(replica_count),
        first(static_cast<std::uint32_t>(part.first_block(blocks))) {}

  // Blocks [begin, end) of each replica; may be empty.
  static ReplicaBlocks range(std::uint64_t begin, std::uint64_t end, std::uint32_t replicas) {
    ReplicaBlocks blocks(end - begin, replicas);
    blocks.first = static_cast<std::uint32_t>(begin);
    return blocks;
  }

  std::uint32_t count() const { return per_replica.divisor * replicas; }

  struct Position {
    std::uint32_t replica;
    std::uint32_t block;  // in the whole replica
  };
  RW_HD Position position(std::uint32_t index) const {
    const std::uint32_t replica = per_replica.quotient(index);
    return {replica, first + (index - replica * per_replica.divisor)};
  }
};

}  // namespace rewise

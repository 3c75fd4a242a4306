// Wolff update (Wolff 1989): the cluster of a random site over bonds between equal spins that are
// drawn with probability 1 - exp(-2 beta) is flipped. Every undirected bond has one draw per step,
// so the cluster does not depend on the order in which it is found.
//
// Draws are made block by block, 64 slots (rules.hpp) at once, as soon as the cluster reaches one
// of them: in two dimensions a block is all bonds ahead of 32 neighbouring sites, so that vectors
// of Philox calls are worth their while.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/bytespin/plan.hpp"
#include "src/engine/stop_watch.hpp"

namespace rewise::bytespin {

// A thread's work space; fits every system of the plan.
struct WolffScratch {
  // The drawn bonds of one block of slots; valid in the update of number `epoch`.
  struct Block {
    std::uint64_t drawn;
    std::uint64_t epoch;
  };

  explicit WolffScratch(const Plan& plan);
  // Forgets the bonds drawn so far.
  void begin_update() { ++epoch; }

  std::vector<Block> blocks;      // [slots / 64 + 1]
  std::unique_ptr<Site[]> queue;  // [sites + slack]
  std::uint64_t epoch = 0;
};

struct GrowthStart {
  Site seed;
  std::uint8_t state;   // what its cluster's sites become, unlike the seed's
  bool any_byte;        // else `state` is the seed's with the lowest bit changed
  std::uint64_t place;  // in the queue
};

// The cluster of a site over the bonds of the update that has begun: its sites are listed in
// scratch.queue from start.place on. Returns its size, 0 where the watch stopped it and it was
// taken back.
std::uint64_t grow_cluster(const Plan& plan, const Tables& tables, const DrawKey& key,
                           StopWatch& watch, WolffScratch& scratch, std::span<std::uint8_t> spins,
                           const GrowthStart& start);

// Flips one cluster; returns its size, 0 as above.
std::uint64_t wolff_update(const Plan& plan, const Tables& tables, const DrawKey& key,
                           StopWatch& watch, WolffScratch& scratch, std::span<std::uint8_t> spins);

}  // namespace rewise::bytespin

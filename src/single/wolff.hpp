// Wolff update (Wolff 1989): the cluster of a random site over bonds between equal spins that are
// drawn with probability 1 - exp(-2 beta) is flipped. Every undirected bond has one draw per step,
// so the cluster does not depend on the order in which it is found.
//
// Draws are made a block of 64 slots at a time, when the cluster first touches the block: one
// vector of Philox calls serves all bonds of 32 neighbouring sites (2D).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/single/plan.hpp"

namespace rewise::single {

// A thread's work space; fits every system of the plan.
struct WolffScratch {
  // The drawn bonds of one block of slots; valid in the update of number `epoch`.
  struct Block {
    std::uint64_t drawn;
    std::uint64_t epoch;
  };

  explicit WolffScratch(const Plan& plan);

  std::vector<Block> blocks;      // [slots / 64 + 1]
  std::unique_ptr<Site[]> queue;  // [sites + slack]
  std::uint64_t epoch = 0;
};

// Flips one cluster; returns its size.
std::uint64_t wolff_update(const Plan& plan, const Tables& tables, const DrawKey& key,
                           WolffScratch& scratch, std::span<std::uint8_t> spins);

}  // namespace rewise::single

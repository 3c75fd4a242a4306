// Swendsen-Wang update (Swendsen & Wang 1987): bonds between equal spins are drawn with probability
// 1 - exp(-2 beta); every cluster flips with probability 1/2. The flip is addressed by the
// cluster's smallest site, so that any labelling gives the same trajectory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/single/plan.hpp"

namespace rewise::single {

__extension__ using Wide = unsigned __int128;

// Over the clusters of one update, n their sizes.
struct ClusterSums {
  std::uint64_t square = 0;  // sum n^2
  Wide quartic = 0;          // 3 (sum n^2)^2 - 2 sum n^4
};

// A thread's work space; fits every system of the plan.
struct SwendsenWangScratch {
  explicit SwendsenWangScratch(const Plan& plan);

  std::unique_ptr<std::uint32_t[]> parent;  // [sites]
  std::unique_ptr<std::uint32_t[]> size;    // [sites]
  std::vector<std::uint64_t> drawn;         // [slots / 64] mask of drawn bonds
};

ClusterSums swendsen_wang_update(const Plan& plan, const Tables& tables, const DrawKey& key,
                                 SwendsenWangScratch& scratch, std::span<std::uint8_t> spins);

}  // namespace rewise::single

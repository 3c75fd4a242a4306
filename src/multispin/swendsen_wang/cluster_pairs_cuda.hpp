// Sums over pairs of clusters of two replicas (label/cluster_pairs.hpp) on the device, after steps
// 1 to 4 of a Swendsen-Wang update (swendsen_wang_cuda.hpp): a block counts the common sites of
// each pair of labels in a tile in a hash table in shared memory.
//
//   0  Nodes of the tile that belong to the same cluster get the same label.
//   1  Runs of sites of a row with the same two labels are added to the table of the tile, then the
//      weights of its sites. The table has two slots per site, so it is never full.
//   2  A cluster that is not a node lies in one tile: its pairs are final.
//   3  A pair of nodes may have sites in several tiles. It is added to a hash table of its two
//      replicas in global memory, with the smallest sites of both clusters as the key. Linear
//      probing begins at the larger of these sites, so that the pairs of a big cluster with the
//      small ones inside it begin at different slots. There are as many slots as sites, enough for
//      all pairs.
//   4  A second kernel sums the slots that are in use and clears them.
//
// Memory: 20 bytes per site of a pair of replicas, for pairs_at_once() pairs. Memory traffic: 2
// bytes per site and replica for labels, and 40 per pair of nodes.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "src/multispin/rules.hpp"
#include "src/multispin/swendsen_wang/swendsen_wang_cuda.hpp"

namespace rewise::multispin {

// A slot of a hash table. All zero: free.
struct alignas(16) PairSlot {
  unsigned long long clusters;  // their smallest sites, one in each half, plus one
  unsigned long long sums;      // common sites; the sum of their weights in the upper half
};
static_assert(sizeof(PairSlot) + sizeof(std::uint32_t) == kPairSlotBytes);

// Working memory and sums of the pairs of a run. Pair k of a word group: replicas 2k and 2k + 1.
struct DeviceClusterPairs {
  std::uint32_t at_once = 0;       // pairs
  std::uint64_t first_step = 0;    // sums do not include earlier steps
  PairSlot* slots = nullptr;       // [at_once][sites] free between launches
  std::uint32_t* used = nullptr;   // [at_once][sites] slots in use
  std::uint32_t* count = nullptr;  // [at_once] number of them
  // [all replicas] at the first one of each pair: += sum n^2, += sum n w, += sum w^2. The last two
  // remain unchanged without weights.
  unsigned long long *size = nullptr, *cross = nullptr, *weight = nullptr;
};

// Queues the sums of one update of all word groups of the run.
void launch_cluster_pairs(const DeviceLabelTiles& g, const LabelArgs& run,
                          const DeviceClusterPairs& pairs, cudaStream_t stream);

// Number of kernels, and of memory operations, of launch_cluster_pairs().
constexpr std::uint32_t pair_launches(std::uint32_t word_groups, std::uint32_t at_once) {
  return (word_groups * (kReplicas / 2) + at_once - 1) / at_once * 3;
}

}  // namespace rewise::multispin

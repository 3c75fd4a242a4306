// Wolff update (Wolff 1989): flips the cluster of a random site. The cluster grows over bonds
// between equal spins, each drawn with probability 1 - exp(-2 beta) (Potts: 1 - exp(-beta)). Every
// undirected bond has one draw per step, so the cluster does not depend on the order in which it
// grows.
//
// Draws are made in blocks of 64 (rules.hpp), as soon as the cluster reaches one of them. In
// two dimensions a block has the 64 forward bonds of 32 consecutive sites, so that vectorised
// Philox calls pay off.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/bytespin/cluster_updater.hpp"
#include "src/bytespin/graph_tables.hpp"
#include "src/engine/stop_poll.hpp"

namespace rewise::bytespin {

// A thread's work space; fits every replica.
struct WolffScratch {
  // The drawn bonds of one block of draws, valid for the update with number `epoch`.
  struct Block {
    std::uint64_t drawn;
    std::uint64_t epoch;
  };

  explicit WolffScratch(const GraphTables& tables);
  // Discards the bonds drawn so far.
  void begin_update() { ++epoch; }

  std::vector<Block> blocks;      // [bond_draws / 64 + 1]
  std::unique_ptr<Site[]> queue;  // [sites + slack]
  std::uint64_t epoch = 0;
};

struct GrowthStart {
  Site seed;
  std::uint8_t state;   // the new state of the cluster's sites, unlike the seed's
  std::uint64_t place;  // position in the queue
};

// Grows the cluster of a site over the bonds of the current update and lists its sites in
// scratch.queue, starting at start.place. Returns its size, or 0 if the poll stopped it (it is
// then undone).
std::uint64_t grow_cluster(const GraphTables& tables, const Thresholds& thresholds,
                           const DrawKey& key, StopPoll& poll, WolffScratch& scratch,
                           std::span<std::uint8_t> spins, const GrowthStart& start);

std::unique_ptr<ClusterUpdater> make_wolff(const GraphTables& tables);

}  // namespace rewise::bytespin

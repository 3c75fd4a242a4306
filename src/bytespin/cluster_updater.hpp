// A cluster update of one replica on a CPU. An engine chooses the update at its construction, and
// each of its threads has an updater with its own work space, which fits every replica.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "src/bytespin/rules.hpp"
#include "src/engine/stop_poll.hpp"
#include "src/label/cluster_sums.hpp"

namespace rewise::bytespin {

class ClusterUpdater {
 public:
  virtual ~ClusterUpdater() = default;

  // Makes the update of `key` on the spins of a replica at temperature `t`. Returns the sums that
  // measurements report (ClusterSums::square: Wolff: the size of the cluster; few-cluster: the
  // estimate of sum n^2), or nothing if the poll stopped the update, which is then undone. Adds to
  // `work` the sites that were visited, and the seconds and passes of labelling.
  virtual std::optional<ClusterSums> update(std::size_t t, const DrawKey& key, StopPoll& poll,
                                            std::span<std::uint8_t> spins, WorkCounters& work) = 0;
};

}  // namespace rewise::bytespin

// Swendsen-Wang update (Swendsen & Wang 1987): bonds between equal spins are drawn with probability
// 1 - exp(-2 beta); every cluster flips with probability 1/2 (Potts: 1 - exp(-beta), and a new
// state for every cluster). The smallest site of a cluster addresses its flip, so the trajectory
// does not depend on the labelling method (run_labels.hpp).
#pragma once

#include <cstdint>
#include <memory>

#include "src/bytespin/cluster_updater.hpp"
#include "src/bytespin/graph_tables.hpp"
#include "src/label/method.hpp"

namespace rewise::bytespin {

// `wolff`: in place of flipping all clusters, gives a new state to the cluster that contains the
// seed of a Wolff update (wolff.hpp), which has the same sites. Costs as much as a Swendsen-Wang
// update, even if that cluster is small. `tile`: edge of the method's tiles, 0 for its default.
std::unique_ptr<ClusterUpdater> make_labelled_clusters(const GraphTables& tables, bool wolff,
                                                       LabelMethod method, std::uint32_t tile);

}  // namespace rewise::bytespin

// Wolff updates of all replicas on a CUDA device (wolff.hpp defines the update; same bits), by the
// methods of WolffMethod:
//
//   frontier        one kernel per level of the search, over the queues of all replicas; spins stay
//                   bytes in global memory (wolff_frontier.cu)
//   frontier-local  the same, but a block continues from its sites of the queue in shared memory
//                   for some levels before it returns the rest (wolff_frontier.cu)
//   persistent      one cooperative kernel makes all updates of a cycle; a group of blocks with its
//                   own barrier processes a replica (wolff_persistent.cu)
//   ccl             labels the clusters of all bonds and flips the one of the seed
//                   (seed_clusters_cuda.hpp)
//
// Every method adds the sizes of the flipped clusters to DeviceReplicas::pending.
#pragma once

#include <memory>

#include "src/bytespin/cluster_updater_cuda.hpp"

namespace rewise::bytespin {

// The methods frontier and frontier-local (`local`) check from time to time whether the clusters
// are complete, and wait for the stream to do so. The other methods never wait.
std::unique_ptr<ClusterUpdaterCuda> make_wolff_frontier(const GraphView& graph,
                                                        std::uint32_t replicas, bool local);
std::unique_ptr<ClusterUpdaterCuda> make_wolff_persistent(const GraphView& graph,
                                                          std::uint32_t replicas);

}  // namespace rewise::bytespin

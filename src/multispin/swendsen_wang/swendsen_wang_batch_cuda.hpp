// Owns the device memory of a batch's Swendsen-Wang updates (swendsen_wang_cuda.hpp): the tiles of
// its graphs, the cluster sums, the tables of sums over pairs of clusters, and the working memory
// of as many word groups as fit at a time. This working memory needs about 2.5 bytes per site and
// replica, and 12 per open site and replica (16 with weights). A second object makes Houdayer
// moves, without sums.
#pragma once

#include <cstdint>
#include <span>

#include "src/cuda/device_arrays.hpp"
#include "src/multispin/device_graphs_cuda.hpp"
#include "src/multispin/rules.hpp"
#include "src/multispin/swendsen_wang/cluster_pairs_cuda.hpp"
#include "src/multispin/swendsen_wang/swendsen_wang_cuda.hpp"

namespace rewise::multispin {

class SwendsenWangBatch {
 public:
  // Waits for the stream. Throws Error(device) if the free memory is too small for one word group.
  SwendsenWangBatch(std::span<const EngineView> engines, const DeviceGraphs& graphs,
                    ClusterMove move, int device, cudaStream_t stream);

  // Queues `updates` updates of a range of graphs, steps *first_step + step and on.
  void queue(const GraphRange& range, const std::uint32_t* first_step, std::uint32_t step,
             std::uint32_t updates, std::uint32_t* spins, cudaStream_t stream);

  // [kinds][replicas of the batch] sums over the updates since they were last cleared. Always sum
  // n^2, then the lower and the upper half of 3 (sum n^2)^2 - 2 sum n^4. With weights or sums over
  // pairs of clusters also sum n w and sum w^2. With sums over pairs also sum n^2, sum n w and sum
  // w^2 over the pairs of replicas 2k and 2k + 1, stored at replica 2k.
  std::size_t kinds() const { return has_pairs_ ? 8 : weighted_ ? 5 : 3; }
  DeviceBuffer<unsigned long long>& sums() { return totals_; }
  // Number of kernels of an update of all graphs.
  std::uint32_t launches() const;

 private:
  void lay_graphs(std::span<const EngineView> engines, cudaStream_t stream);
  void lay_weights(std::span<const EngineView> engines, cudaStream_t stream);
  void make_room(int device, cudaStream_t stream);
  std::uint64_t bytes_of_pairs() const;
  void take_memory(cudaStream_t stream);

  bool is_houdayer() const { return move_ == ClusterMove::houdayer; }

  const DeviceGraphs& graphs_;
  const ClusterMove move_;
  DeviceLabelTiles tiles_;  // of all graphs; without seeds
  LabelArgs run_;
  DeviceClusterPairs pairs_;
  std::uint32_t group_ = 0;
  bool weighted_ = false;          // at least one of the graphs
  bool has_pairs_ = false;         // sums over pairs of clusters
  DeviceArrays tables_, working_;  // to which tiles_, run_ and pairs_ point
  DeviceBuffer<unsigned long long> totals_;
};

}  // namespace rewise::multispin

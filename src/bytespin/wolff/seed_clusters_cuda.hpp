// Updates that find the clusters of some seeds by labelling all, on a CUDA device: few-cluster
// updates (few_cluster.hpp; same bits) and Wolff updates by the method `ccl`. All clusters are
// labelled, and nodes look up their roots, as in a Swendsen-Wang update; then a warp per seed finds
// its cluster and marks the root with the cluster's new state, and sites copy marked states. Costs
// as much as a Swendsen-Wang update, however few the seeds.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>

#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/bytespin/wolff/few_cluster.hpp"
#include "src/cuda/device_buffer.hpp"

namespace rewise::bytespin {

class SeedClustersCuda final : public ClusterUpdaterCuda {
 public:
  // `graph` points to device memory that must outlive this. `rule`: nothing for Wolff updates.
  SeedClustersCuda(const GraphView& graph, const std::optional<FewClusterRule>& rule,
                   const DeviceReplicas& replicas, cudaStream_t stream);

  // Bytes of work space on the device.
  static std::uint64_t bytes(const GraphView& graph, std::uint32_t replicas);

  void run(const DeviceReplicas& replicas, std::uint32_t updates, cudaStream_t stream) override;

 private:
  void update(const DeviceReplicas& replicas, cudaStream_t stream);

  const GraphView graph_;
  const bool wolff_;
  const SeedTiles tiles_;  // Wolff: one of all sites
  const Threshold flip_;
  SwendsenWangCuda labelling_;
  DeviceBuffer<std::uint32_t> marks_;  // [replicas][stride] bytes, at roots: state + 1, or 0
};

}  // namespace rewise::bytespin

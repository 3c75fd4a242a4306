// Few-cluster updates of all replicas on a CUDA device (few_cluster.hpp defines the update; same
// bits). All clusters are labelled, and nodes look up their roots, as in a Swendsen-Wang update;
// then a warp per seed finds its cluster and marks the root with the cluster's new state, and sites
// copy marked states. Costs as much as a Swendsen-Wang update, however few the seeds.
#pragma once

#include <cuda_runtime_api.h>

#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/bytespin/wolff/few_cluster.hpp"
#include "src/cuda/device_buffer.hpp"

namespace rewise::bytespin {

class FewClusterCuda {
 public:
  // `plan` points to device memory that must outlive this.
  FewClusterCuda(const DevicePlan& plan, const FewClusterRule& rule, const DeviceReplicas& replicas,
                 cudaStream_t stream);

  // Bytes of work space on the device.
  static std::uint64_t bytes(const DevicePlan& plan, std::uint32_t replicas,
                             std::uint64_t replica_stride);

  // Queues `updates` updates of every replica, numbered from replicas.step on. Adds
  // FewClusterSums::square to replicas.pending and the sites of the clusters found to visited[2 *
  // replica].
  void run(const DeviceReplicas& replicas, std::uint32_t updates, unsigned long long* visited,
           cudaStream_t stream);

 private:
  void update(const DeviceReplicas& replicas, unsigned long long* visited, cudaStream_t stream);

  DevicePlan plan_;
  FewClusterRule rule_;
  SwendsenWangCuda labelling_;
  DeviceBuffer<std::uint32_t> marks_;  // [replicas][stride] bytes, at roots: state + 1, or 0
};

}  // namespace rewise::bytespin

// A cluster update of all replicas on a CUDA device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "src/bytespin/graph_tables.hpp"
#include "src/engine/engine.hpp"

namespace rewise::bytespin {

// An update with its work space on the device that was current when it was created.
class ClusterUpdaterCuda {
 public:
  virtual ~ClusterUpdaterCuda() = default;

  // Queues `updates` updates of every replica that the object was created for, numbered from
  // replicas.step on. Adds the sums that measurements report to replicas.pending and
  // replicas.quartic. Some methods wait for the stream from time to time.
  virtual void run(const DeviceReplicas& replicas, std::uint32_t updates, cudaStream_t stream) = 0;

  // Waits for the stream, and adds the seconds and passes of labelling since the last call. For
  // methods that measure them.
  virtual void report(WorkCounters&, cudaStream_t) {}
};

// A choice of the update, made at the construction of an engine. The arrays of the graph, in device
// memory, must outlive the updater, and the replicas' spins must keep their addresses.
struct ClusterMethodCuda {
  std::uint64_t bytes = 0;  // of work space on the device
  std::function<std::unique_ptr<ClusterUpdaterCuda>(const GraphView&, const DeviceReplicas&,
                                                    cudaStream_t)>
      make;
};

// For the ferromagnet. Throws Error(usage) if the graph is too large for the method.
ClusterMethodCuda choose_clusters(const GraphTables& tables, const EngineSpec& spec,
                                  UpdateMethods methods);

}  // namespace rewise::bytespin

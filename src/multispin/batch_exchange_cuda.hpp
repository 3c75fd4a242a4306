// The state of replica exchange of the graphs of a batch on the device (exchange_cuda.hpp), and its
// copy on the host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/cuda/device_buffer.hpp"
#include "src/multispin/device_graphs_cuda.hpp"
#include "src/multispin/exchange_cuda.hpp"

namespace rewise::multispin {

class BatchExchange {
 public:
  // Copies the state of all graphs to the device. `engines` and `graphs` must outlive this object.
  BatchExchange(std::span<const EngineView> engines, const DeviceGraphs& graphs,
                cudaStream_t stream);

  // Queues the exchange of a range of graphs at step *step. `bonds`: [graphs] on the device.
  void queue(const GraphRange& range, std::uint32_t* spins, const std::int64_t* bonds,
             const std::uint32_t* step);

  // Copy the state of all graphs between device and host. Both wait.
  void fetch();
  void send();
  // Copy the state of one graph from and to the copy on the host.
  void read(std::uint32_t graph, ReplicaExchange& to) const;
  void write(std::uint32_t graph, const ReplicaExchange& from);

 private:
  const std::span<const EngineView> engines_;
  const DeviceGraphs& graphs_;
  const cudaStream_t stream_;
  const std::size_t temperatures_, counts_of_graph_;  // 1 + 2 T
  DeviceBuffer<ExchangeRule> rules_;                  // DeviceExchange
  DeviceBuffer<std::uint32_t> mask_, walker_;
  DeviceBuffer<unsigned long long> counts_, measured_;  // measured_: [2][replicas of the batch]
  std::vector<std::uint32_t> walkers_;                  // copies on the host
  std::vector<unsigned long long> counted_;
};

}  // namespace rewise::multispin

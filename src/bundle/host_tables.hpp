// What the host lays out for the graphs of a batch on a device: graph by graph, by all cores, and
// one graph's behind the other's on the device.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "src/base/all_cores.hpp"
#include "src/bundle/bundle_engine.hpp"
#include "src/cuda/device_buffer.hpp"

namespace rewise::bundle {

// T(graph, layout) of every graph: the tables of an update.
template <class T>
std::vector<T> tables_of(std::span<const EngineView> engines) {
  std::vector<T> tables(engines.size());
  on_all_cores(engines.size(), engines.size() * engines.front().layout.sites,
               [&](std::size_t k) { tables[k] = T(engines[k].graph, engines[k].layout); });
  return tables;
}

// One array of all parts' `list`, each copied behind the one before; waits for the stream.
template <class Part, class T>
DeviceBuffer<T> joined(const std::vector<Part>& parts, std::vector<T> Part::*list,
                       cudaStream_t stream) {
  std::size_t size = 0;
  for (const Part& part : parts) size += (part.*list).size();
  DeviceBuffer<T> buffer(size);
  for (std::size_t at = 0; const Part& part : parts) {
    buffer.copy_in(part.*list, stream, at);
    at += (part.*list).size();
  }
  check_cuda(cudaStreamSynchronize(stream), "copying tables to the device");
  return buffer;
}

}  // namespace rewise::bundle

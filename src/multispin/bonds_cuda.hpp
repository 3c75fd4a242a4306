// The bonds by which the graphs of a batch differ from their lattice, in device memory. Tables of
// cluster updates are made from them. Memory: a bit per lattice bond and graph, and 4 bytes per
// rewired bond in addition to its ends (device_graphs_cuda.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "graphs/lattice.hpp"
#include "src/cuda/launch.hpp"
#include "src/multispin/layout.hpp"
#include "src/multispin/layout_cuda.hpp"
#include "src/multispin/local/measure_cuda.hpp"

namespace rewise::multispin {

// Pointers are on the device.
struct DeviceBonds {
  Lattice lattice;
  DeviceLattice places;
  std::uint32_t graphs = 0, rewired_most = 0;  // largest number of rewired bonds of a graph
  const std::uint32_t* rewired = nullptr;      // numbers of the rewired bonds, graph by graph
  DevicePairs ends;                            // slots of their ends, and each graph's first pair
  const std::uint32_t* gone = nullptr;         // [graphs][gone_words] a bit per lattice bond
  std::size_t gone_words = 0;

  RW_HD bool is_gone(std::uint32_t graph, std::uint64_t bond) const {
    return (gone[graph * gone_words + bond / 32] >> bond % 32 & 1u) != 0;
  }
};

// A launch over items of all graphs of a batch: one graph per blockIdx.y.
inline LaunchShape cover_each(const DeviceBonds& bonds, std::uint64_t items) {
  LaunchShape shape = cover(items);
  shape.blocks_y = bonds.graphs;
  return shape;
}

// Sets the bits in `gone` of the lattice bonds among bonds [first[graph], first[graph + 1]).
void launch_mark_gone(const DeviceBonds& bonds, const std::uint32_t* bond,
                      const std::uint32_t* first, std::uint32_t most, std::uint32_t* gone,
                      cudaStream_t stream);

}  // namespace rewise::multispin

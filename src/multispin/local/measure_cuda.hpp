// Exact counts per replica on the device (measure.hpp), and products of replicas. Each thread
// counts several cells with bit-sliced counters. A warp transposes its counters, so that lane r
// holds the count of replica r. Blocks add their counts to global sums.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "src/multispin/layout_cuda.hpp"

namespace rewise::multispin {

// Bonds of all graphs as pairs of slots; those of a graph are [first[graph], first[graph + 1]).
// Entries of `a` are listed slots with a sign (layout_cuda.hpp).
struct DevicePairs {
  const std::uint32_t* a = nullptr;
  const std::uint32_t* b = nullptr;
  const std::uint32_t* first = nullptr;
};

// A measurement of a range of graphs. Pointers are to the data of the first graph.
struct DeviceMeasurement {
  DevicePairs pairs[2];    // removed lattice bonds, rewired bonds
  std::uint32_t most = 0;  // largest number of pairs of a graph and kind
  std::uint32_t graphs = 1;
  std::uint32_t word_groups = 1;  // of each graph
  int vec = 1;
  bool with_signs = false;  // false: all couplings count as 1
  const std::uint32_t* spins = nullptr;
  unsigned long long* unsatisfied = nullptr;  // [graphs * word groups * 32]
  unsigned long long* up = nullptr;           // likewise
};

// Copies the words of graphs, changed for a measurement: each word is XORed with its neighbour bit,
// w ^ w >> 1, so that bit 2k is set if the product of the spins of replicas 2k and 2k + 1 is -1; or
// with a mask; or it is inverted on the second sublattice.
struct DeviceChange {
  enum class Kind { products, mask, second_sublattice } kind = Kind::products;
  std::size_t words = 0;        // in all
  std::size_t graph_words = 0;  // of a graph
  std::uint32_t slots = 0;      // of a word group
  int vec = 1;
  const std::uint32_t* mask = nullptr;  // [graphs][slots] ~0 or 0
  std::uint32_t second = 0;             // the first slot of the second sublattice
};
void launch_change(const DeviceChange& change, const std::uint32_t* spins, std::uint32_t* changed,
                   cudaStream_t stream);

// Adds the number of unsatisfied bonds to unsatisfied[word group * 32 + r] and the number of up
// spins to up[word group * 32 + r]. Bonds are counted as all lattice bonds, minus the removed ones,
// plus the rewired ones.
void launch_measure(const DeviceLattice& g, const DeviceMeasurement& m, cudaStream_t stream);

}  // namespace rewise::multispin

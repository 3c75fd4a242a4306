// Exact sums per replica on the device (measure.hpp), and products of replicas. Threads count
// bit-sliced over several cells, a warp transposes its counters so that lane r holds replica r,
// blocks add to global sums.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "src/multispin/device_layout.hpp"

namespace rewise::multispin {

// Pairs of slots (of a: listed), of all graphs: pairs [first[graph], first[graph + 1]).
struct DevicePairs {
  const std::uint32_t* a = nullptr;
  const std::uint32_t* b = nullptr;
  const std::uint32_t* first = nullptr;
};

// A measurement of a range of graphs; pointers are to the first of them.
struct DeviceMeasurement {
  DevicePairs pairs[2];    // removed lattice bonds, rewired ones
  std::uint32_t most = 0;  // of a graph and kind
  std::uint32_t graphs = 1;
  std::uint32_t word_groups = 1;  // of each
  int vec = 1;
  bool with_signs = false;  // else all couplings are taken as 1
  const std::uint32_t* spins = nullptr;
  unsigned long long* disagreeing = nullptr;  // [graphs * word groups * 32]
  unsigned long long* up = nullptr;           // likewise
};

// Of all words, products[i] = spins[i] ^ spins[i] >> 1: bit 2k is set where the product of the
// spins of replicas 2k and 2k + 1 is -1.
void launch_products(const std::uint32_t* spins, std::uint32_t* products, std::size_t words,
                     cudaStream_t stream);

// Adds to disagreeing[word group * 32 + r] and up[word group * 32 + r]: all lattice bonds as if
// none were rewired, minus those removed, plus those rewired; all up spins.
void launch_measure(const DeviceLattice& g, const DeviceMeasurement& m, cudaStream_t stream);

}  // namespace rewise::multispin

// What a device could do at most, and the least that an update asks of it: the two sides of the
// shares that `rewise bench` prints. The counts are derived in tests/bench/RESULTS.md.
//
// Bytes: spins and neighbour lists that must pass through memory once per update, whatever a cache
// holds. Instructions: 32-bit integer ones on the random draws, the digits' comparison and the
// neighbour sums; loads, stores and addresses left out. An engine that draws otherwise may beat a
// floor; a share near 1 says that there is nothing left to gain without another method.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/graph.hpp"
#include "src/study/device_choice.hpp"

namespace rewise {

struct DeviceLimits {
  std::string device;             // "cpu", "cuda:0"
  std::string title;              // "NVIDIA H200"
  double copy_rate = 0;           // bytes read and written per second
  double integer_rate = 0;        // instructions per second; 0: not known (CPU)
  std::string integer_rate_from;  // "132 multiprocessors x 1.98 GHz x 64 lanes"
};

// Measures the copy: within the device's memory on CUDA, a triad (a = b + 3 c, 24 bytes per
// element) on all threads of the CPU.
DeviceLimits device_limits(const Device& device, int threads);

// Bytes that a sweep (metropolis, glauber) or update (swendsen-wang) of all replicas moves at
// least; 0 for wolff and few-cluster, whose clusters may stay in a cache.
double least_bytes(EngineKind engine, Update update, const Graph& graph, std::uint32_t replicas);

// Integer instructions per attempted (metropolis, glauber), flipped (wolff), found (few-cluster) or
// visited (swendsen-wang) site of one replica. Potts takes the same at least.
double least_instructions(EngineKind engine, Update update, const Graph& graph);

// The same of a sweep of the bitlattice engine, which has no graph.
double least_bitlattice_bytes(const std::vector<std::uint32_t>& extents, std::uint32_t replicas);
// And what it reads of a rewired lattice's lists.
double least_modified_bytes(const Graph& graph, std::uint32_t replicas);
double least_bitlattice_instructions(int dim);

}  // namespace rewise

// Rates that a device can reach, and the least bytes and instructions that an update needs. `rewise
// bench` prints their ratio (derivation in tests/bench/RESULTS.md).
//
// Bytes: spins and neighbour lists, each read or written once per update. Instructions: 32-bit
// integer instructions for random numbers, comparisons and neighbour sums, without loads, stores
// and address calculations. A ratio near 1 means that only another method could be faster.
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

// Measures the copy rate: a copy within device memory on CUDA; on the CPU a triad (a = b + 3 c, 24
// bytes per element) with all threads.
DeviceLimits device_limits(const Device& device, int threads);

// The least bytes moved by a sweep (metropolis, glauber) or update (swendsen-wang) of all replicas;
// 0 for wolff and few-cluster, whose clusters may stay in a cache.
double least_bytes(EngineKind engine, Update update, const Graph& graph, std::uint32_t replicas);

// Integer instructions per attempted (metropolis, glauber), flipped (wolff), found (few-cluster) or
// visited (swendsen-wang) site of one replica. Potts takes the same at least.
double least_instructions(EngineKind engine, Update update, const Graph& graph);

// The same of a sweep of the bitlattice engine, which has no graph.
double least_bitlattice_bytes(const std::vector<std::uint32_t>& extents, std::uint32_t replicas);
double least_bitlattice_instructions(int dim);

}  // namespace rewise

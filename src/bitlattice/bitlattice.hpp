// The bitlattice engine (Ising, lattices of one to four dimensions, one bit per site): one large
// replica, or several side by side, updated by checkerboard Metropolis or Glauber. The lattice is
// regular and given by its extents, without a graph, so that replicas of more than 2^32 sites are
// possible.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graphs/graph.hpp"
#include "src/engine/factory.hpp"

namespace rewise {

// Bytes of the spins of one replica: N / 8, rows padded to whole groups of 256 sites. Throws
// Error(usage) for unsupported extents.
std::uint64_t packed_bytes(const std::vector<std::uint32_t>& extents);

// Runs on the CPU, a CUDA device, or several devices that share every replica
// (distributed_engine.hpp). Throws Error(usage) for Potts and, when advanced, for cluster updates;
// Error(device) if the replicas do not fit into the memory.
std::unique_ptr<Engine> make_bitlattice_engine(const std::vector<std::uint32_t>& extents,
                                               const EngineSpec& spec,
                                               const EngineOptions& options);

// The extents of a graph. Throws Error(usage) unless it is a regular lattice.
std::vector<std::uint32_t> regular_extents(const Graph& graph);

extern const EngineFactory kBitlatticeFactory;

}  // namespace rewise

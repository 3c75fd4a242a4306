// The bitlattice engine (Ising, lattices of one to four dimensions, one bit per site): one large
// system, or several side by side, updated by checkerboard Metropolis or Glauber. The lattice is
// regular and known by its extents, without a graph, so that systems of more than 2^32 sites run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graphs/graph.hpp"
#include "src/engine/factory.hpp"

namespace rewise {

// Bytes of spins that a system takes: N / 8, rows padded to whole groups of 256 sites. Error(usage)
// for extents that no bitlattice engine takes.
std::uint64_t packed_bytes(const std::vector<std::uint32_t>& extents);

// On the CPU, a CUDA device, or several that share every system (shared.hpp).
// Error(usage) for Potts, and, when it is advanced, for cluster updates; Error(device) where the
// systems do not fit the device's memory, or the machine's.
std::unique_ptr<Engine> make_bitlattice_engine(const std::vector<std::uint32_t>& extents,
                                               const EngineSpec& spec,
                                               const EngineOptions& options);

// The extents of a graph that is a regular lattice. Error(usage) for every other one.
std::vector<std::uint32_t> regular_extents(const Graph& graph);

std::unique_ptr<Engine> make_bitlattice_engine(const Graph& graph, const EngineSpec& spec,
                                               const EngineOptions& options);

extern const EngineFactory kBitlatticeFactory;

}  // namespace rewise

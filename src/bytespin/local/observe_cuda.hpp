// Initial configurations and exact integer sums of all replicas on a CUDA device.
#pragma once

#include <cuda_runtime_api.h>

#include "graphs/geometry.hpp"
#include "src/bytespin/graph_view.hpp"
#include "src/engine/engine.hpp"

namespace rewise::bytespin {

// Sets every spin of the replicas' part. Queued.
void launch_start(const GraphView& graph, const DeviceReplicas& replicas, Start start,
                  cudaStream_t stream);

// The number of counts of launch_measure() per replica, apart from its bonds.
inline std::uint32_t measured_counts(bool potts, std::uint32_t states) {
  return potts ? states : 1;
}

// Queues measurements of the replicas' part. Adds the bonds between unequal spins to
// unequal[replica] (modulo 2^64), and to counts [replicas][measured_counts()] the spins that point
// up (Ising) or the sites in each state (Potts). The bare lattice is counted from rows of bytes, 16
// at a time if rows are multiples of 16; then rewired bonds are added and the bonds that they
// replaced subtracted (for a rank: all that `graph` lists).
void launch_measure(const GraphView& graph, const Geometry& geometry,
                    const DeviceReplicas& replicas, unsigned long long* unequal,
                    unsigned long long* counts, cudaStream_t stream);

// Gathers a replica's spins at some sites, in their order, and the reverse. kNoSite marks unused
// entries. `count` is a multiple of 128. `bits`: one bit per spin (Ising only), else one byte.
// Queued.
inline constexpr Site kNoSite = 0xFFFFFFFFu;  // site counts end at 2^32 - 1
void launch_gather(const std::uint8_t* spins, const Site* sites, std::uint64_t count, bool bits,
                   std::uint8_t* out, cudaStream_t stream);
void launch_scatter(const std::uint8_t* in, const Site* sites, std::uint64_t count, bool bits,
                    std::uint8_t* spins, cudaStream_t stream);

}  // namespace rewise::bytespin

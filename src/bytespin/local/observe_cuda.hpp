// First configurations of, and sums over, all systems on a CUDA device: exact integers.
#pragma once

#include <cuda_runtime_api.h>

#include "graphs/geometry.hpp"
#include "src/bytespin/device_plan.hpp"
#include "src/engine/engine.hpp"

namespace rewise::bytespin {

// Sets every spin of the systems' part. Queued.
void launch_start(const DevicePlan& plan, const DeviceSystems& systems, Start start,
                  cudaStream_t stream);

// What launch_measure() counts of a system beside its bonds.
inline std::uint32_t measured_counts(bool potts, std::uint32_t states) {
  return potts ? states : 1;
}

// Adds to unequal[who] the bonds between unequal spins (modulo 2^64), and to counts
// [systems][measured_counts()] the spins that point up, or of Potts the sites in each state, of the
// systems' part. Queued. A lattice is counted whole, as if no bond had been rewired, from rows of
// bytes, 16 at a time where rows are multiples of 16; then the rewired bonds are added and those
// that are gone taken off (of a rank all that `plan` names).
void launch_measure(const DevicePlan& plan, const Geometry& geometry, const DeviceSystems& systems,
                    unsigned long long* unequal, unsigned long long* counts, cudaStream_t stream);

// A system's spins at some sites, in their order, and the reverse; kNoSite is none. `count` is a
// multiple of 128. `bits`: of Ising, a bit each; else a byte. Queued.
inline constexpr Site kNoSite = 0xFFFFFFFFu;  // site counts end at 2^32 - 1
void launch_gather(const std::uint8_t* spins, const Site* sites, std::uint64_t count, bool bits,
                   std::uint8_t* out, cudaStream_t stream);
void launch_scatter(const std::uint8_t* in, const Site* sites, std::uint64_t count, bool bits,
                    std::uint8_t* spins, cudaStream_t stream);

}  // namespace rewise::bytespin

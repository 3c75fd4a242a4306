// First configurations of, and sums over, all systems on a CUDA device: exact integers.
#pragma once

#include <cuda_runtime_api.h>

#include "src/engine/engine.hpp"
#include "src/single/device_plan.hpp"
#include "src/single/geometry.hpp"

namespace rewise::single {

// Sets every spin: odd replicas hot where `mixed`, all or none where not. Queued.
void launch_start(const DevicePlan& plan, const DeviceSystems& systems, Start start,
                  cudaStream_t stream);

// Adds to unequal[who] the bonds between unequal spins (modulo 2^64) and to up[who] the spins that
// point up, of every system. Queued. A lattice is counted whole, as if no bond had been rewired,
// from rows of bytes, 16 at a time where rows are multiples of 16; then the rewired bonds are added
// and those that are gone taken off.
void launch_measure(const DevicePlan& plan, const Geometry& geometry, const DeviceSystems& systems,
                    unsigned long long* unequal, unsigned long long* up, cudaStream_t stream);

// Adds to unequal[who] what rewired bonds change. Queued.
void launch_measure_rewired(const DevicePlan& plan, const Geometry& geometry,
                            const DeviceSystems& systems, unsigned long long* unequal,
                            cudaStream_t stream);

// The same for Potts. Adds the sites in every state to counts [systems][states], and writes the
// largest of these sums to most[who].
void launch_start_potts(const DevicePlan& plan, const DeviceSystems& systems, Start start,
                        cudaStream_t stream);
void launch_measure_potts(const DevicePlan& plan, const Geometry& geometry,
                          const DeviceSystems& systems, unsigned long long* unequal,
                          unsigned long long* counts, unsigned long long* most,
                          cudaStream_t stream);

}  // namespace rewise::single

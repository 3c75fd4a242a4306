// What the Potts model needs on a CUDA device beside the kernels that it shares with Ising. Each
// queues its kernels for all systems.
#pragma once

#include <cuda_runtime_api.h>

#include "src/single/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/single/swendsen_wang/swendsen_wang_fused.hpp"

namespace rewise::single {

// As launch_fused_tiles() and launch_fused_flip() for Ising.
void launch_fused_tiles_potts(const DevicePlan& plan, const FusedLabels& labels,
                              const DeviceSystems& systems, std::uint32_t update,
                              cudaStream_t stream);
void launch_fused_flip_potts(const DevicePlan& plan, const FusedLabels& labels,
                             const DeviceSystems& systems, std::uint32_t update,
                             cudaStream_t stream);

// The general path. Labelling, after launch_draw(): keeps the drawn lattice bonds that join equal
// spins, so that a labelling that sees equal spins everywhere finds the clusters.
void launch_keep_equal(const DevicePlan& plan, const DeviceLabels& labels,
                       const DeviceSystems& systems, cudaStream_t stream);

// Swendsen-Wang, step 5: every cluster takes a new state, drawn by its smallest site. As
// launch_flip() for Ising.
void launch_renew(const DevicePlan& plan, const DeviceLabels& labels, const DeviceSystems& systems,
                  std::uint32_t update, cudaStream_t stream);

}  // namespace rewise::single

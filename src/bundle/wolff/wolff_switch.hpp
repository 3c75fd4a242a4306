// Between the sparse and the dense form of a batch's Wolff updates on the device: which replicas
// are where in their updates. A replica's place is the number of its updates that are done, of
// those that a launch is to do (DeviceWolffRun::stopped).
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace rewise::bundle {

// Replicas of dense[bundle] (null: none) have all updates done, as far as the sparse form is
// concerned; the others none.
void launch_start_forms(const std::uint32_t* dense, std::uint32_t replicas, std::uint32_t updates,
                        std::uint32_t* stopped, cudaStream_t stream);

// Picks in every bundle the replicas that stopped first, for one dense update: active[bundle], at
// update later[bundle]; they count as having done it.
void launch_pick_stopped(std::uint32_t bundles, std::uint32_t updates, std::uint32_t* stopped,
                         std::uint32_t* later, std::uint32_t* active, cudaStream_t stream);

}  // namespace rewise::bundle

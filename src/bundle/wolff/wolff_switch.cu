#include "src/bundle/wolff/wolff_switch.hpp"

#include "src/bundle/rules.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

__global__ void start_forms(const std::uint32_t* dense, std::uint32_t replicas,
                            std::uint32_t updates, std::uint32_t* stopped) {
  const std::uint32_t replica = blockIdx.x * blockDim.x + threadIdx.x;
  if (replica >= replicas) return;
  const std::uint32_t in_dense = dense == nullptr ? 0 : dense[replica / kReplicas];
  stopped[replica] = (in_dense >> replica % kReplicas & 1u) != 0 ? updates : 0;
}

// A warp per bundle, a lane per replica.
__global__ void pick_stopped(std::uint32_t bundles, std::uint32_t updates, std::uint32_t* stopped,
                             std::uint32_t* later, std::uint32_t* active) {
  const std::uint32_t replica = blockIdx.x * blockDim.x + threadIdx.x;
  if (replica / kReplicas >= bundles) return;
  const std::uint32_t at = stopped[replica];
  const std::uint32_t least = __reduce_min_sync(~0u, at);
  const bool picked = at == least && at < updates;
  const std::uint32_t who = __ballot_sync(~0u, picked);
  if (picked) stopped[replica] = at + 1;
  if (replica % kReplicas != 0) return;
  later[replica / kReplicas] = least;
  active[replica / kReplicas] = who;
}

}  // namespace

void launch_start_forms(const std::uint32_t* dense, std::uint32_t replicas, std::uint32_t updates,
                        std::uint32_t* stopped, cudaStream_t stream) {
  launch(start_forms, cover(replicas), stream, dense, replicas, updates, stopped);
}

void launch_pick_stopped(std::uint32_t bundles, std::uint32_t updates, std::uint32_t* stopped,
                         std::uint32_t* later, std::uint32_t* active, cudaStream_t stream) {
  launch(pick_stopped, cover(std::uint64_t{bundles} * kReplicas), stream, bundles, updates, stopped,
         later, active);
}

}  // namespace rewise::bundle

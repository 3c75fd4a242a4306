// The tiles of a Swendsen-Wang update on the fast path (fused_update.cuh), Potts.
#include "src/single/local/potts_cuda.hpp"
#include "src/single/swendsen_wang/fused_update.cuh"

namespace rewise::single {

void launch_fused_tiles_potts(const DevicePlan& plan, const FusedLabels& labels,
                              const DeviceSystems& systems, std::uint32_t update,
                              cudaStream_t stream) {
  device::launch_label_tiles<device::FusedPotts>(plan, labels, systems, update, stream);
}

void launch_fused_flip_potts(const DevicePlan& plan, const FusedLabels& labels,
                             const DeviceSystems& systems, std::uint32_t update,
                             cudaStream_t stream) {
  device::launch_flip_tiles<device::FusedPotts>(plan, labels, systems, update, stream);
}

}  // namespace rewise::single

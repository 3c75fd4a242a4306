// The steps of a Swendsen-Wang update on the device, in order (swendsen_wang_cuda.hpp). Each queues
// its kernels for all systems.
#pragma once

#include "src/single/swendsen_wang/swendsen_wang_cuda.hpp"

namespace rewise::single {

inline constexpr std::uint32_t kUpdatesPerBatch = 64;  // between two calls of launch_close()
inline constexpr std::uint32_t kMaskSlack = 16;        // words after a mask that may be read

// Calls of whole warps: a warp makes 8 x 32 calls.
inline constexpr std::uint64_t kCallsPerWarp = 256;

// Copies of an update's sums.
std::uint32_t sum_copies(const Tiles& tiles);

void launch_draw(const DevicePlan& plan, const DeviceLabels& labels, const DeviceSystems& systems,
                 cudaStream_t stream);
void launch_label_tiles(const DevicePlan& plan, const DeviceLabels& labels,
                        const DeviceSystems& systems, std::uint32_t update, cudaStream_t stream);
void launch_join(const DevicePlan& plan, const DeviceLabels& labels, const DeviceSystems& systems,
                 cudaStream_t stream);
void launch_settle(const DevicePlan& plan, const DeviceLabels& labels, const DeviceSystems& systems,
                   cudaStream_t stream);
void launch_flip(const DevicePlan& plan, const DeviceLabels& labels, const DeviceSystems& systems,
                 std::uint32_t update, cudaStream_t stream);
// Adds the sums of a batch to systems.pending and quartic, and clears them.
void launch_close(const DeviceLabels& labels, const DeviceSystems& systems, std::uint32_t updates,
                  unsigned long long* quartic, cudaStream_t stream);

}  // namespace rewise::single

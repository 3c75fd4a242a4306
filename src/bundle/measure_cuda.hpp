// Exact sums per replica on the device (measure.hpp). Threads count bit-sliced over several cells,
// a warp transposes its counters so that lane r holds replica r, blocks add to global sums.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "src/bundle/device_layout.hpp"

namespace rewise::bundle {

struct DevicePairs {
  const std::uint32_t* a = nullptr;  // [count] slots
  const std::uint32_t* b = nullptr;
  std::uint32_t count = 0;
};

// Adds to disagreeing[bundle * 32 + r] and up[bundle * 32 + r]: all lattice bonds as if none were
// rewired, minus those of `removed`, plus those of `rewired`; all up spins.
void launch_measure(const DeviceLattice& g, const DevicePairs& removed, const DevicePairs& rewired,
                    std::uint32_t bundles, int vec, const std::uint32_t* spins,
                    unsigned long long* disagreeing, unsigned long long* up, cudaStream_t stream);

}  // namespace rewise::bundle
